import { hash } from 'node:crypto';
import { type Connection, rows } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { LedgerBase } from '../rules/base.ts';

type Query = Pick<Connection, 'query'>;

/** By what a database was made: its network, the rules that count in it, and its first block. */
export const LEDGER_BASE = `CREATE TABLE IF NOT EXISTS ledger_base (
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  value MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE=InnoDB`;

const ACTIVATION = 'activation ';
const NEVER = 'never';

/**
 * Ties a database to a base, or compares it with the one that it is tied to. A database that an earlier release wrote is tied
 * once. A rule whose former and new height are both above the newest block may change.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE naming both values, where the database is of another base or of another indexer
 */
export async function bindLedgerBase(connection: Query, base: LedgerBase): Promise<void> {
  const tip = await readTip(connection);
  const stored = new Map(
    (await rows<{ name: string; value: string }>(connection, 'SELECT name, value FROM ledger_base')).map((row) => [
      row.name,
      row.value
    ])
  );
  const wanted = valuesOf(base);
  if (stored.size > 0) compare(stored, wanted, tip);
  const first = await readFirst(connection);
  if (first !== null) wanted.set('firstBlock', first);
  const changed = [...wanted].filter(([name, value]) => stored.get(name) !== value);
  if (changed.length === 0) return;
  await connection.query(
    'INSERT INTO ledger_base (name, value) VALUES ? ON DUPLICATE KEY UPDATE value = VALUES(value)',
    [changed]
  );
}

/**
 * Refuses a database with blocks of another indexer, before anything of it is changed: this one notes the hash of each block.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE
 */
export async function refuseForeignBlocks(connection: Query): Promise<void> {
  const newest = async (table: string) => {
    const there = await rows(connection, 'SHOW TABLES LIKE ?', [table]);
    if (there.length === 0) return null;
    const [found] = await rows<{ tip: number | null }>(connection, `SELECT MAX(block_index) AS tip FROM ${table}`);
    return found!.tip;
  };
  const [blocks, known] = [await newest('blocks'), await newest('chain_blocks')];
  if (blocks === known) return;
  const reason = `the newest block of blocks is ${blocks ?? 'none'}, that of chain_blocks ${known ?? 'none'}: another indexer wrote this database; name another one`;
  throw new PlatformError('DATABASE_UNUSABLE', { reason });
}

async function readTip(connection: Query): Promise<number> {
  const [found] = await rows<{ tip: number | null }>(connection, 'SELECT MAX(block_index) AS tip FROM chain_blocks');
  return found?.tip ?? -1;
}

async function readFirst(connection: Query): Promise<string | null> {
  const [first] = await rows<{ height: number; hash: string }>(
    connection,
    'SELECT block_index AS height, block_hash AS hash FROM chain_blocks ORDER BY block_index LIMIT 1'
  );
  return first ? `${first.height} ${first.hash}` : null;
}

/** A base as rows, with a digest of all of it that operators compare at a glance. */
function valuesOf({ version, settings, activations }: LedgerBase): Map<string, string> {
  const values = new Map([
    ['version', String(version)],
    ...Object.entries(settings),
    ...Object.entries(activations).map(
      ([name, height]) => [ACTIVATION + name, Number.isFinite(height) ? String(height) : NEVER] as const
    )
  ]);
  const text = [...values].map(([name, value]) => `${name}=${value}`).sort();
  return values.set('digest', hash('sha256', text.join('\n')));
}

function compare(stored: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>, tip: number): void {
  for (const name of new Set([...wanted.keys(), ...stored.keys()])) {
    const [before, now] = [stored.get(name), wanted.get(name)];
    if (name === 'digest' || name === 'firstBlock' || before === now) continue;
    if (name === 'version' && Number(before) <= Number(now)) continue;
    if (name.startsWith(ACTIVATION)) {
      if (heightOf(before) > tip && heightOf(now) > tip) continue;
    } else if (before === undefined && name !== 'version') continue; // a setting of this release, with a height of its own
    throw otherBase(name, before, now, tip);
  }
}

/** What is not named is never in force. */
function heightOf(value: string | undefined): number {
  return value === undefined || value === NEVER ? Number.POSITIVE_INFINITY : Number(value);
}

function otherBase(name: string, before: string | undefined, now: string | undefined, tip: number): PlatformError {
  const said = (value: string | undefined) => value ?? 'not there';
  const where = tip < 0 ? 'no block is written' : `blocks up to ${tip} are written by the former`;
  const reason = `${name} is ${said(before)} in the database and ${said(now)} by the settings and the profile; ${where}: use that profile, or name a new database`;
  return new PlatformError('DATABASE_UNUSABLE', { reason });
}
