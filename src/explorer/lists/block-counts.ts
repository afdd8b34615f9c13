import Type from 'typebox';
import type { Query } from '../read/reader.ts';
import { pluralOf } from './details.ts';
import type { List, Row } from './list.ts';

/** Blocks of one page. */
const MAX_HEIGHTS = 100;
const HEIGHTS = Array.from({ length: MAX_HEIGHTS }, () => '?').join(', ');
/** Blocks whose counts are kept, of some hundred bytes each; then all are counted anew. */
const MOST_KEPT = 10_000;

/** Numbers of the actions of each kind in a block, and of the transactions that they came in, as decimal texts. */
interface Counts {
  readonly actions: Readonly<Record<string, string>>;
  readonly transactions: string;
}

const NONE: Counts = { actions: {}, transactions: '0' };

/** By the hash of the actions of a block and of all below it: no other block has it. */
const kept = new Map<string, Counts>();
const hashOf = ({ actions_hash: hash }: Row): string | null => (typeof hash === 'string' ? hash : null);

/** Actions of blocks by their kinds, as the methods of their lists. To count a block reads each action of it: that is done once. */
export const BLOCK_COUNTS: NonNullable<List['more']> = {
  schema: {
    actions: Type.Unsafe<Row>({ type: 'object', description: 'how many of each kind, as decimal texts' }),
    transactions: Type.String({ description: 'in how many transactions they came' })
  },
  read: async (query, blocks) => {
    const known = blocks.map((block) => kept.get(hashOf(block) ?? ''));
    const counted = await count(
      query,
      blocks.filter((_, place) => known[place] === undefined)
    );
    return blocks.map((block, place) => ({ ...block, ...(known[place] ?? counted.get(block) ?? NONE) }));
  }
};

/** Counts blocks in one statement, and keeps what it found. */
async function count(query: Query, blocks: readonly Row[]): Promise<ReadonlyMap<Row, Counts>> {
  const heights = blocks.map(({ block_index }) => Number(block_index));
  if (heights.length === 0) return new Map();
  // A row without a kind is of the whole block, one without a height of all of them.
  const found = await query<{ height: number | null; kind: string | null; count: number; transactions: number }>(
    `SELECT a.block_index AS height, n.action AS kind, COUNT(*) AS count, COUNT(DISTINCT a.tx_index) AS transactions
     FROM actions a FORCE INDEX (block_index) JOIN index_actions n ON n.id = a.action_id
     WHERE a.block_index IN (${HEIGHTS}) GROUP BY a.block_index, n.action WITH ROLLUP`,
    Array.from({ length: MAX_HEIGHTS }, (_, place) => heights[place] ?? heights[0]!)
  );
  const byHeight = Map.groupBy(found, ({ height }) => (height === null ? null : Number(height)));
  if (kept.size + blocks.length > MOST_KEPT) kept.clear();
  return new Map(
    blocks.map((block) => {
      const counts = byHeight.get(Number(block['block_index'])) ?? [];
      const result: Counts = {
        actions: Object.fromEntries(
          counts.flatMap(({ kind, count }) => (kind === null ? [] : [[pluralOf(kind), String(count)] as const]))
        ),
        transactions: String(counts.find(({ kind }) => kind === null)?.transactions ?? 0)
      };
      const hash = hashOf(block);
      if (hash !== null) kept.set(hash, result);
      return [block, result] as const;
    })
  );
}
