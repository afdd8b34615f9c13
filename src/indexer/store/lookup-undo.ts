import { quoteName, rows, type Statements } from '../../db/connection.ts';
import { deleteFrom } from './delete-rows.ts';
import { type LastIds, LOOKUP_TABLES } from './lookups.ts';
import { tupleOf } from './row-encoder.ts';
import { insert } from './row-writer.ts';
import { VALID_STATUS } from './valid-status.ts';

/**
 * Blocks below the chain's tip whose ids are noted one by one; no reorg is deeper. Of older groups only the last block
 * is noted.
 */
const NOTED_BLOCKS = 1_000;
const TABLE = 'lookup_undo';

/** Highest ids after a block. */
interface HighestIds {
  readonly height: number;
  readonly lookups: LastIds;
  /** Highest id that any row of `balances` has had. */
  readonly balances: number;
}

/**
 * Returns whether a block is so close to the tip that a reorg may remove it. @param tip height of the chain's newest
 * block
 */
export function isNoted(height: number, tip: number): boolean {
  return tip - height <= NOTED_BLOCKS;
}

/** Writes the highest ids after blocks, in their transaction. @param tip height of the chain's newest block */
export async function writeHighestIds(to: Statements, blocks: readonly HighestIds[], tip: number): Promise<void> {
  const noted = blocks.filter((block) => isNoted(block.height, tip) || block === blocks.at(-1));
  const tuples = noted.map(({ height, lookups, balances }) => tupleOf([height, ...lookups, balances]));
  await insert(to, TABLE, ['block_index', ...LOOKUP_TABLES, 'balances'], tuples);
}

/** Deletes the ids that blocks from a height on got, in the transaction that deletes the blocks. */
export async function undoHighestIds(connection: Statements, height: number): Promise<void> {
  const before = (await readHighestIds(connection, height - 1)) ?? (await readFirst(connection));
  for (const table of [TABLE, 'balance_undo']) await deleteFrom(connection, table, 'block_index', height);
  if (before === null) return; // written by an earlier release, which left ids where they were
  for (const [place, table] of LOOKUP_TABLES.entries())
    await deleteFrom(connection, quoteName(table), 'id', before.lookups[place]! + 1);
}

/** Reads the highest id that any row of `balances` has had. */
export async function readLastBalance(connection: Statements): Promise<number> {
  const [found] = await rows<{ last: number }>(
    connection,
    `SELECT GREATEST((SELECT COALESCE(MAX(id), 0) FROM balances),
       COALESCE((SELECT balances FROM ${TABLE} ORDER BY block_index DESC LIMIT 1), 0)) AS last`
  );
  return Number(found!.last);
}

async function readHighestIds(connection: Statements, height: number): Promise<Pick<HighestIds, 'lookups'> | null> {
  const [found] = await rows<Record<string, number>>(connection, `SELECT * FROM ${TABLE} WHERE block_index = ?`, [
    height
  ]);
  return found ? { lookups: LOOKUP_TABLES.map((table) => Number(found[table])) } : null;
}

/** Returns the ids of an index whose blocks are all deleted; null while any block is left. */
async function readFirst(connection: Statements): Promise<Pick<HighestIds, 'lookups'> | null> {
  const left = await rows(connection, 'SELECT 1 FROM blocks LIMIT 1');
  if (left.length > 0) return null;
  return { lookups: LOOKUP_TABLES.map((table) => (table === 'index_statuses' ? VALID_STATUS : 0)) };
}
