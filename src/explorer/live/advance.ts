import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';

/** A row of a list as it is told, but for the number of its block. */
export type Row = Readonly<Record<string, unknown>> & { readonly block_index: number };

/** Whose actions a subscriber wants besides blocks. */
export interface Subject {
  readonly type: 'address' | 'token' | 'recent';
  readonly query: string;
}

/** What happened since the blocks that are known. */
export interface Advance {
  /** The newest block that still stands; null where all stand. */
  readonly fork: number | null;
  /** The first block above those that are told, where more came at once than are told one by one; else null. */
  readonly skippedTo: number | null;
  /** Oldest first. */
  readonly blocks: readonly Row[];
  readonly actions: ReadonlyMap<Subject, SubjectActions>;
}

/** Actions of a subject in new blocks, oldest first. */
interface SubjectActions {
  readonly rows: readonly Row[];
  /** There were more, before these. */
  readonly isCut: boolean;
}

/** Blocks that are told one by one, and actions of one subject that are told of one advance. */
const MAX_BLOCKS = 100;
const MAX_ACTIONS = 100;
const READINGS = 5;

/**
 * Reads what is new above the blocks that are known, newest first, all at one tip.
 *
 * @returns null where nothing is new, or where the tip does not hold still
 * @throws what the coin's `read` throws
 */
export async function readAdvance(
  coin: Pick<Coin, 'read' | 'network'>,
  known: readonly Row[],
  subjects: readonly Subject[]
): Promise<Advance | null> {
  for (let reading = 0; reading < READINGS; reading++) {
    const marks = new Set<string | null>();
    const read = async (asked: Pick<Question, 'method' | 'limit'> & Partial<Subject>) => {
      const { body, mark } = await coin.read({ ...PAGE, ...asked });
      marks.add(mark);
      const { data } = JSON.parse(body) as { data: readonly (Omit<Row, 'block_index'> & { block_index: string })[] };
      return data.map((row): Row => ({ ...row, block_index: Number(row.block_index) }));
    };
    const standing = await read({ method: 'blocks', limit: MAX_BLOCKS });
    const { fork, skippedTo, blocks } = compare(known, standing, coin.network.undoDepth);
    if (fork === null && blocks.length === 0) return null;
    const from = blocks[0]?.block_index ?? Number.POSITIVE_INFINITY;
    const actions = new Map<Subject, SubjectActions>();
    for (const subject of blocks.length === 0 ? [] : subjects) {
      const found = await read({ method: 'history', ...subject, limit: MAX_ACTIONS });
      const rows = found.filter(({ block_index }) => block_index >= from).reverse();
      actions.set(subject, { rows, isCut: rows.length === MAX_ACTIONS });
    }
    if (marks.size === 1) return { fork, skippedTo, blocks, actions };
  }
  return null;
}

const PAGE = { parameters: {}, page: 1, order: 'desc', format: 'json' } as const satisfies Partial<Question>;
const isSame = (a: Row, b: Row): boolean => JSON.stringify(a) === JSON.stringify(b);

/** @param known newest first, as `standing` is @param undoDepth the blocks that a reorg may replace */
export function compare(known: readonly Row[], standing: readonly Row[], undoDepth: number): Omit<Advance, 'actions'> {
  const byHeight = new Map(standing.map((block) => [block.block_index, block]));
  const newest = known[0];
  const kept = known.find((block) => {
    const now = byHeight.get(block.block_index);
    return now !== undefined && isSame(now, block);
  });
  const oldest = standing.at(-1)?.block_index ?? 0;
  if (newest === undefined || (kept === undefined && newest.block_index < oldest)) {
    // Nothing is known, or nothing that is still in sight.
    const isGap = newest !== undefined && newest.block_index < oldest - 1;
    return { fork: null, skippedTo: isGap ? oldest : null, blocks: [...standing].reverse() };
  }
  // A reorg that replaced all that is in sight may have gone deeper: as deep as any may go.
  const isWhole = standing.length < MAX_BLOCKS;
  const base = kept?.block_index ?? Math.min(oldest - 1, isWhole ? oldest : newest.block_index - undoDepth);
  const blocks = standing.filter(({ block_index }) => block_index > base).reverse();
  const isGap = kept === undefined && base < oldest - 1;
  return { fork: base < newest.block_index ? base : null, skippedTo: isGap ? oldest : null, blocks };
}
