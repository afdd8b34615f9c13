import { pbftQuorum } from '../../../consensus/pbft-quorum.ts';
import { type PriceRound, signersOf } from '../../../consensus/price-round.ts';
import type { Signature } from '../../../consensus/quorum.ts';
import type { Connection } from '../../../db/connection.ts';
import { selectActiveKeys } from '../validators.ts';
import { insertSignedRound } from './prices.ts';
import type { Outcome } from './ranks.ts';

/** A round as an indexer pushes it. */
interface SignedRound extends PriceRound {
  readonly sigs: readonly Signature[];
  readonly source_chain: string;
  readonly action_index: number;
  readonly push_generation: number;
}

/** Largest time by which a round may be ahead of this hub's clock. */
const MOST_AHEAD_MS = 3_600_000;

/** Keeps a round that more than a quorum of the active validators signed. */
export async function keepRound(connection: Connection, pushed: SignedRound, trusted: boolean): Promise<Outcome> {
  const pairs = new Set(pushed.pairs.map(({ pair }) => pair.replace(/[/_-]/, ''))); // BTC/USD is BTCUSD too
  if (pairs.size < pushed.pairs.length) return { refused: 'invalid pairs' };
  if (pushed.timestamp * 1_000 > Date.now() + MOST_AHEAD_MS) return { refused: 'invalid timestamp' };
  const signing = pushed.sigs.map(({ pubkey }) => pubkey.toLowerCase());
  const { count, active } = await selectActiveKeys(connection, signing);
  if (count === 0) return { refused: 'validator snapshot unavailable' };
  const signers = new Set(signersOf(pushed, pushed.sigs, active));
  if (signers.size < pbftQuorum(count)) return { refused: 'insufficient signatures' };
  const round = {
    round_number: pushed.round,
    block_timestamp: pushed.timestamp,
    reference_block: pushed.btc_block_height,
    validator_count: signers.size,
    consensus_proof: JSON.stringify(pushed.sigs.filter(({ pubkey }) => signers.has(pubkey.toLowerCase()))),
    source_chain: pushed.source_chain,
    source_action_index: pushed.action_index,
    push_generation: pushed.push_generation,
    pairs: pushed.pairs
  };
  return await insertSignedRound(connection, round, trusted);
}
