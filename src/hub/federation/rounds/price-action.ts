import type { Signature } from '../../../consensus/quorum.ts';
import type { DecidedRound } from './decide.ts';
import { priceRoundOf } from './statement-text.ts';

/** Version of a PRICE action with a round of validators. */
const VERSION = 0;

/** Returns the text of the PRICE action that publishes a round, ready for the encoder; null where the round has no price. */
export function priceActionOf(decided: DecidedRound, signatures: readonly Signature[]): string | null {
  const priced = priceRoundOf(decided);
  if (!priced) return null;
  const { round, timestamp, btc_block_height, pairs } = priced;
  const fields = [
    ...[round, timestamp, btc_block_height, pairs.length],
    ...pairs.flatMap(({ pair, price }) => [pair, price]),
    ...[signatures.length, ...signatures.flatMap(({ pubkey, sig }) => [pubkey, sig])]
  ];
  return ['PRICE', VERSION, ...fields].join('|');
}
