import { quoteName, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import { type BlockHashes, blockText, sameBlock } from '../../../wire/data/database.ts';
import type { SchemaPlan } from '../../ddl/schema-writer.ts';
import { type BlockHead, readHeadPages } from '../../tables/block-hashes.ts';
import type { LoggedBlock } from '../../tables/transparency-log.ts';
import { findUnresolved } from '../database/references.ts';
import { logBlocks } from '../database/written-blocks.ts';
import type { Replica } from '../parts/replica.ts';

/** Returns the error for stored rows that differ from the rows that the source sent. */
export function refusal(reason: string): PlatformError {
  return new PlatformError('SOURCE_INVALID', { reason: `the snapshot is refused: ${reason}` });
}

/** Checks that every received row is stored. @throws {PlatformError} SOURCE_INVALID */
export async function checkCounts(
  { store: { writer } }: Pick<Replica, 'store'>,
  { tables }: SchemaPlan,
  received: Readonly<Record<string, number>>,
  signal: AbortSignal
): Promise<void> {
  for (const { table } of tables) {
    signal.throwIfAborted();
    const [row] = await rows(writer, `SELECT COUNT(*) AS n FROM ${quoteName(table.name)}`);
    const expected = received[table.name] ?? 0;
    if (Number(row!['n']) !== expected)
      throw refusal(`table ${table.name} has ${row!['n']} rows, ${expected} were received`);
  }
}

/**
 * Checks that the heights have no gap and end at the source's block with its hashes; they become the transparency log.
 *
 * @param hashes null where the source did not name the block: it is what the rows say
 * @returns the lowest height, and the last block; nulls where the replica has no blocks
 * @throws {PlatformError} SOURCE_INVALID
 */
export async function checkBlocks(
  { store: { writer, context } }: Pick<Replica, 'store'>,
  height: number,
  hashes: BlockHashes | null
): Promise<{ lowest: number | null; blockTime: number | null; hashes: BlockHashes | null }> {
  const { heads: layout, only } = context.schema;
  if (only) return { lowest: null, blockTime: null, hashes };
  if (!layout) throw refusal('it has no table blocks');
  const [found] = await rows(writer, 'SELECT MIN(block_index) AS lowest, MAX(block_index) AS highest FROM blocks');
  const lowest = Number(found!['lowest']);
  if (Number(found!['highest']) !== height)
    throw refusal(`the highest block is ${found!['highest']}, the source said ${height}`);
  const isIndexer = layout.dbType === 'indexer';
  if (isIndexer) for (const table of ['sync_meta', 'merkle_epochs']) await writer.query(`TRUNCATE ${table}`);
  let tip: BlockHead | undefined;
  for await (const { from, to, heads } of readHeadPages(writer, layout, lowest, height)) {
    if (heads.length !== to - from + 1) throw refusal(`blocks ${from} to ${to} have a gap`);
    if (isIndexer) await logBlocks(writer, heads as readonly LoggedBlock[], context.epochSize);
    tip = heads.at(-1);
  }
  if (!tip || blockText(tip.hashes) === null) throw refusal(`block ${height} has no hash`);
  if (hashes !== null && !sameBlock(tip.hashes, hashes))
    throw refusal(`the hashes of block ${height} differ from the source's`);
  return { lowest, blockTime: tip.blockTime, hashes: tip.hashes };
}

/** Warns only: a difference is the source's own, and the source decides what a balance is made of. */
export async function checkBalances({
  store: { writer, context },
  log
}: Pick<Replica, 'store' | 'log'>): Promise<void> {
  const has = (name: string, ...columns: string[]) =>
    columns.every((column) => context.schema.byName.get(name)?.plan.columns.some((each) => each.name === column));
  const pair = ['address_id', 'tick_id', 'amount'];
  if (!has('balances', ...pair) || !has('credits', ...pair) || !has('debits', ...pair)) return;
  const part = (name: string, sign: string) =>
    `SELECT address_id, tick_id, ${sign}CAST(amount AS DECIMAL(65,18)) AS amount FROM ${name}`;
  const moves = [part('credits', ''), part('debits', '-'), part('balances', '-')];
  const sums = has('escrows', ...pair) ? [moves, [...moves, part('escrows', '-')]] : [moves];
  let differing = 0;
  for (const parts of sums) {
    const [row] = await rows(
      writer,
      `SELECT COUNT(*) AS n FROM (SELECT 1 FROM (${parts.join(' UNION ALL ')}) p GROUP BY address_id, tick_id HAVING SUM(amount) <> 0) d`
    );
    differing = Number(row!['n']);
    if (differing === 0) return;
  }
  log.warn({ pairs: differing }, 'balances of the source differ from its credits - debits, with and without escrows');
}

/** Warns only, as with balances. */
export async function checkReferences({
  store: { writer, context },
  log
}: Pick<Replica, 'store' | 'log'>): Promise<void> {
  for (const { table, parent, count } of await findUnresolved(writer, context.schema))
    log.warn({ table, parent, rows: count }, `${count} rows of ${table} refer to missing rows of ${parent}`);
}
