import { type PriceRound, signersOf } from '../../../consensus/price-round.ts';
import type { Signature } from '../../../consensus/quorum.ts';
import type { DecidedRound } from './decide.ts';
import { priceRoundOf } from './statement-text.ts';

/** Version of a PRICE action with a round of validators. */
const VERSION = 0;
/** Signatures of an action: as many as the largest set has hubs. */
const MOST_SIGNATURES = 64;

/**
 * Returns the text of the PRICE action that publishes a round, ready for the encoder. Null: it has no price, or no height of Bitcoin, or not
 * more than two thirds have signed, of all hubs and of those that qualify for prices. The ledger counts the latter, so they stand first.
 *
 * @param members  hubs of the set
 */
export function publishableAction(
  decided: DecidedRound,
  signatures: readonly Signature[],
  members: number
): string | null {
  const priced = priceRoundOf(decided);
  const { height, qualified } = decided;
  const counts = ({ pubkey }: Signature) => qualified.includes(pubkey);
  const counting = signatures.filter(counts);
  const isSigned = signatures.length >= mostOf(members) && counting.length >= mostOf(qualified.length);
  if (!priced || height === 0 || !isSigned) return null;
  const signed = [...counting, ...signatures.filter((one) => !counts(one))].slice(0, mostOf(members));
  return [...fieldsOf(priced), signed.length, ...signed.flatMap(({ pubkey, sig }) => [pubkey, sig])].join('|');
}

/** Returns whether a text is the PRICE action of a round, with signatures of more than two thirds of some hubs. @param keys  theirs */
export function isPriceAction(text: string, priced: PriceRound, keys: readonly string[]): boolean {
  const fields = fieldsOf(priced);
  const written = text.split('|');
  if (fields.some((field, at) => String(field) !== written[at])) return false;
  const [count, ...signed] = written.slice(fields.length);
  if (String(signed.length / 2) !== count || signed.length > 2 * MOST_SIGNATURES) return false;
  const signatures = Array.from({ length: signed.length / 2 }, (_, at) => ({
    pubkey: signed[2 * at]!,
    sig: signed[2 * at + 1]!
  }));
  return signersOf(priced, signatures, keys).length >= mostOf(keys.length);
}

function fieldsOf({ round, timestamp, btc_block_height, pairs }: PriceRound): readonly (string | number)[] {
  const prices = pairs.flatMap(({ pair, price }) => [pair, price]);
  return ['PRICE', VERSION, round, timestamp, btc_block_height, pairs.length, ...prices];
}

/** Returns the least number of some hubs that is more than two thirds of them. */
function mostOf(hubs: number): number {
  return Math.floor((2 * hubs) / 3) + 1;
}
