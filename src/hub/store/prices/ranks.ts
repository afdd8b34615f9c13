import type { Connection, SqlRow } from '../../../db/connection.ts';
import { insertRemoval } from './price-removals.ts';
import type { StreamedTable } from './streamed-tables.ts';

/** Reason why a push changed nothing; null when it did. */
export type Refusal = string | null;

/** Result of a push; `generation` is that of the row which the hub has already. */
export interface Outcome {
  readonly refused: Refusal;
  readonly generation?: number;
}

/** The row that is stored under the name of a pushed row. */
export interface Known extends SqlRow {
  readonly generation: number;
  readonly chain: string | null;
  readonly actionIndex: number | null;
  /** Whether a caller pushed it that has the key or is on this machine. */
  readonly trusted: number;
}

/** Refusal of a generation that a reorg ended, in the words that existing clients know. */
const RETRACTED = 'stale (retracted generation)';
type Judgement = 'duplicate' | 'stale' | typeof RETRACTED;

/** Decides whether a pushed row replaces the one that is stored under its name: trusted callers come first, then generations. */
export function judge(
  known: Known,
  pushed: { readonly trusted: boolean; readonly generation: number; readonly isSame: boolean }
): Judgement | null {
  if (pushed.trusted && !known.trusted) return null;
  const isRanked = pushed.trusted || !known.trusted;
  if (isRanked && pushed.generation > known.generation) return null;
  if (pushed.isSame) return 'duplicate';
  return pushed.generation < known.generation ? RETRACTED : 'stale';
}

/** Returns the result of a push that changed nothing. */
export const outcomeOf = (refused: Judgement, { generation }: Known): Outcome => ({ refused, generation });

/**
 * Tells readers that a row is gone, or that another one took its place.
 *
 * @param generation of what takes its place @param trusted whether the caller is, by whom it goes
 */
export const noteRemoval = (
  connection: Connection,
  where: { readonly table: StreamedTable; readonly round_number: number | null },
  row: Known,
  generation: number,
  trusted: boolean
) => {
  const place = { source_chain: row.chain, from_action_index: row.actionIndex, to_action_index: row.actionIndex };
  const retraction_generation = Math.max(generation, row.generation + 1);
  return insertRemoval(connection, { ...where, ...place, retraction_generation }, trusted);
};
