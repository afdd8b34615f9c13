import { BASE_COLUMNS, bindBase, bindFirstBlock, type DatabaseBase, noteFirstBlock } from '../../db/base.ts';
import { rows, type Statements } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { ChainBlock } from '../block/block.ts';

/** The table of a ledger's base. */
export const LEDGER_BASE_TABLE = 'ledger_base';
const TABLE = LEDGER_BASE_TABLE;

/** Table that holds what a database was made for: its network, the rules that count in it, and its first block. */
export const LEDGER_BASE = `CREATE TABLE IF NOT EXISTS ${TABLE} (${BASE_COLUMNS}) ENGINE=InnoDB`;

/** Ties a ledger to a base. @throws {PlatformError} DATABASE_UNUSABLE @see bindBase */
export async function bindLedgerBase(connection: Statements, base: DatabaseBase): Promise<void> {
  const [newest, first] = [await readBlock(connection, 'DESC'), await readBlock(connection, 'ASC')];
  await bindBase(connection, TABLE, base, newest?.height ?? -1);
  if (first) await bindFirstBlock(connection, TABLE, first);
}

/** Notes the first block of a ledger with its rows. */
export async function noteFirst(connection: Statements, first: Pick<ChainBlock, 'height' | 'hash'>): Promise<void> {
  await noteFirstBlock(connection, TABLE, first);
}

/**
 * Refuses a database with blocks of another indexer, before anything of it is changed: this one notes the hash of each block.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE
 */
export async function refuseForeignBlocks(connection: Statements): Promise<void> {
  const newest = async (table: string) => {
    const there = await rows(connection, 'SHOW TABLES LIKE ?', [table]);
    if (there.length === 0) return null;
    const [found] = await rows<{ tip: number | null }>(connection, `SELECT MAX(block_index) AS tip FROM ${table}`);
    return found!.tip;
  };
  const [blocks, known] = [await newest('blocks'), await newest('chain_blocks')];
  if (blocks === known) return;
  const reason = `another indexer wrote this database: its newest block is ${blocks ?? 'none'} in blocks and ${known ?? 'none'} in chain_blocks; name another database`;
  throw new PlatformError('DATABASE_UNUSABLE', { reason });
}

async function readBlock(connection: Statements, order: 'ASC' | 'DESC') {
  const [block] = await rows<{ height: number; hash: string }>(
    connection,
    `SELECT block_index AS height, block_hash AS hash FROM chain_blocks ORDER BY block_index ${order} LIMIT 1`
  );
  return block;
}
