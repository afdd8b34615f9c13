import { formatAmount, parseAmount } from '../../../consensus/amount.ts';
import { type PriceRound, signersOf } from '../../../consensus/price-round.ts';
import { floorGas } from '../../fees/gas-places.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { readIndex, sourceSleeps } from '../../rules/checks.ts';
import { bitcoinOnly, keysSeen, ownKeysSeen } from '../../staking/checks.ts';
import {
  readCount,
  readCouples,
  readSigned,
  SIGNED_CHECKS,
  type Signed,
  signedColumn
} from '../../staking/signatures.ts';
import {
  allKeys,
  isQuorum,
  keysBehind,
  leastWeight,
  stakedBy,
  type Validator,
  validatorsAt
} from '../../staking/validators.ts';
import { MOST_ROUNDS, type PriceRound as Prices, RECENT_ROUNDS } from '../../state/facts.ts';

/** Round as its text has it; null for badly formed fields. */
interface Round extends Signed {
  readonly round: number | null;
  readonly timestamp: number | null;
  readonly height: number | null;
  /** Number of pairs; null when it is no count from 1 to 100. */
  readonly pairCount: number | null;
  readonly pairs: PriceRound['pairs'];
  /** Returns the signers among the validators at its height, if its form is right. Signatures are checked once. */
  readonly votes: () => Votes;
}

interface Votes {
  readonly signers: readonly Validator[];
  readonly all: readonly Validator[];
}

const MOST_PAIRS = 100;
/** Most blocks by which the height of a round's validators may be below its block: a day of Bitcoin. */
const OLDEST_SNAPSHOT = 144;
const HIGHEST_PRICE = parseAmount('10000000000')!;
const PAIR = /^[A-Z0-9]{2,10}[/_-]?[A-Z]{3}$/;
/** Units of the gas token that the signers of a round share. */
const ROUND_REWARD = parseAmount('10')!;
const FIRST_PAIR = 4;

function read(step: Step): Round[] {
  const { get, all } = step.action.fields;
  const pairCount = readCount(get('PAIR_COUNT'), MOST_PAIRS);
  const fields = {
    round: readIndex(get('ROUND')),
    timestamp: readIndex(get('TIMESTAMP')),
    height: readIndex(get('BTC_BLOCK_HEIGHT')),
    pairCount,
    pairs: readCouples(all, FIRST_PAIR, pairCount).map(([pair, price]) => ({ pair, price })),
    ...readSigned(all, FIRST_PAIR + 2 * (pairCount ?? 0))
  };
  let counted: Votes | undefined;
  return [{ ...fields, votes: () => (counted ??= count(fields, step)) }];
}

function isPrice(text: string): boolean {
  const price = /^\d{1,11}(?:\.\d{1,8})?$/.test(text) ? parseAmount(text)! : 0n;
  return price > 0n && price <= HIGHEST_PRICE;
}

/** Returns whether all pairs differ. */
function areDistinct(pairs: PriceRound['pairs']): boolean {
  return new Set(pairs.map(({ pair }) => pair)).size === pairs.length;
}

/** Returns the validators for prices that signed, and all that could have. */
function count({ round, timestamp, height, pairs, sigs }: Omit<Round, 'votes'>, { ledger }: Step): Votes {
  const all = validatorsAt('price', ledger, height!);
  // Request all facts of the reward first: a later miss would have every signature checked again.
  const sources = [...new Set(all.map(({ source }) => source))];
  ledger.request(sources.flatMap((key) => [{ kind: 'unclaimed', key } as const, { kind: 'addressId', key } as const]));
  const signedRound: PriceRound = { round: round!, timestamp: timestamp!, btc_block_height: height!, pairs };
  const keys = all.map(({ pubkey }) => pubkey);
  const signed = new Set(signersOf(signedRound, sigs, keys));
  return { signers: all.filter(({ pubkey }) => signed.has(pubkey)), all };
}

/** Records prices on which the validators agreed. */
export const PRICE_ROUND = defineAction<Round>({
  name: 'PRICE',
  table: 'prices',
  formats: { 0: 'ROUND|TIMESTAMP|BTC_BLOCK_HEIGHT|PAIR_COUNT|(PAIR|PRICE)+|SIG_COUNT|(PUBKEY|SIG)+' },
  read,
  checks: [
    bitcoinOnly,
    ['ROUND (format)', ({ round }) => round === null],
    ['TIMESTAMP (format)', ({ timestamp }) => timestamp === null],
    ['BTC_BLOCK_HEIGHT (format)', ({ height }) => height === null],
    ['PAIR_COUNT (format)', ({ pairCount }) => pairCount === null],
    ['PAIR (format)', ({ pairs }) => !pairs.every(({ pair }) => PAIR.test(pair)) || !areDistinct(pairs)],
    ['PRICE (format)', ({ pairs }) => !pairs.every(({ price }) => isPrice(price))],
    ...SIGNED_CHECKS,
    sourceSleeps,
    [
      'BTC_BLOCK_HEIGHT (block index)',
      ({ height }, { action: { block } }) => height! > block.height || height! < block.height - OLDEST_SNAPSHOT
    ],
    ['ROUND (already finalized)', ({ round }, { ledger }) => ledger.get('pricedRound', String(round))],
    ownKeysSeen,
    [
      'SOURCE (not qualified)',
      (_, { action, ledger }) => stakedBy(action.source, ledger, action.block.height) < leastWeight('oracle_publish')
    ],
    keysSeen((_, { ledger }) => allKeys(ledger)),
    keysSeen(({ height }, { ledger }) => keysBehind(allKeys(ledger), ledger, height!)),
    [
      'SIG (no quorum)',
      ({ votes }) => {
        const { signers, all } = votes();
        return !isQuorum(signers, all);
      }
    ]
  ],
  row: (round, { action }, isValid) => ({
    version: action.format,
    source_id: action.source,
    round_number: round.round,
    round_timestamp: round.timestamp,
    btc_block_height: round.height, // no column has it: it is pushed to a hub
    pair_count: round.pairCount,
    pairs_json: round.pairs.every(({ pair, price }) => PAIR.test(pair) && isPrice(price))
      ? JSON.stringify(round.pairs)
      : null,
    sig_count: round.sigCount,
    sigs_json: signedColumn(round),
    validation_status: isValid ? 'valid' : 'invalid'
  }),
  apply: (round, step) => {
    step.ledger.set('pricedRound', String(round.round), true);
    const added: Prices = { round: round.round!, timestamp: round.timestamp!, pairs: round.pairs };
    step.ledger.set('rounds', RECENT_ROUNDS, withRound(step.ledger.get('rounds', RECENT_ROUNDS), added));
    reward(round, step);
  }
});

/** Inserts a round in its place. Anybody who has the signatures may send an older round later. */
function withRound(rounds: readonly Prices[], added: Prices): readonly Prices[] {
  const place = rounds.findIndex(({ round }) => round < added.round);
  return rounds.toSpliced(place === -1 ? rounds.length : place, 0, added).slice(0, MOST_ROUNDS);
}

/** Shares the reward of a round among the sources of its signers. Each gets it for its first key in byte order. */
function reward({ round, votes }: Round, step: Step): void {
  const { action, ledger } = step;
  const bySource = new Map<string, string>();
  for (const { source, pubkey } of votes().signers) {
    if (!bySource.has(source)) bySource.set(source, pubkey);
  }
  const share = floorGas(ROUND_REWARD / BigInt(bySource.size), step);
  for (const [source, pubkey] of bySource) {
    ledger.record('validator_rewards', {
      source_id: source,
      signing_pubkey_id: pubkey,
      reward_type: 'oracle_round',
      round_reference: round,
      round_qualifier: 0,
      amount: formatAmount(share),
      block_index: action.block.height,
      derive_block_index: action.block.height
    });
    ledger.set('unclaimed', source, ledger.get('unclaimed', source) + share);
  }
}
