import { type Connection, rows } from '../../../db/connection.ts';

/** A round as a chain's indexer pushed it. */
interface CarriedRound {
  readonly round_number: number;
  readonly source_chain: string | null;
  readonly source_action_index: number | null;
  readonly push_generation: number;
}

/** Place of a round that the set of the hub decided. */
const OF_THE_SET = { source_chain: '', source_action_index: 0 } as const;
/** Chains that one round is remembered for by trusted callers, and by all before a stranger adds one. */
const MOST_CARRIERS = 8;

/**
 * Remembers that another chain carries a round too, or that the set of the hub decided it, for when a reorg takes away the action that the
 * hub has it from.
 */
export async function rememberCarrier(connection: Connection, pushed: CarriedRound, trusted: boolean): Promise<void> {
  const { round_number, push_generation } = pushed;
  const { source_chain, source_action_index } = { ...pushed, ...(pushed.source_chain === null && OF_THE_SET) };
  const others = await rows(
    connection,
    'SELECT 1 FROM price_carriers WHERE round_number = ? AND source_chain <> ? AND trusted >= ? LIMIT ?',
    [round_number, source_chain, trusted, MOST_CARRIERS]
  );
  if (others.length >= MOST_CARRIERS) return;
  const row = { round_number, source_chain, source_action_index, push_generation, trusted };
  await connection.query('REPLACE INTO price_carriers SET ?', [{ ...row, pushed: JSON.stringify(pushed) }]);
}
