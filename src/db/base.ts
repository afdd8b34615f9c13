import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';
import { rows, type Statements } from './connection.ts';

/** The settings and rules that the rows of a database follow from, beside the chain. Two databases of one base and one chain are equal. */
export interface DatabaseBase {
  /** A higher one means that an activation height came along: see `activations`. */
  readonly version: number;
  /** Settings that must never change, as texts by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** First block in which an action or rule counts, by its name; Infinity: never. */
  readonly activations: Readonly<Record<string, number>>;
  /** Settings that count from a rule on, with its name: until its first block is written, they may change. */
  readonly ruledSettings?: Readonly<Record<string, string>>;
}

/** Names what a row says beside the base itself. */
const FIRST_BLOCK = 'firstBlock';
const DIGEST = 'digest';
const ACTIVATION = 'activation ';
const NEVER = 'never';

/** Columns of a table that holds a base. */
export const BASE_COLUMNS = `
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  value MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL`;

/**
 * Ties a database to a base, or compares it with the one that it is tied to. A database that an earlier release wrote is tied
 * once. A rule whose former and new height are both above the newest block may change.
 *
 * @param tip  height of the newest block; -1: there is none
 * @throws {PlatformError} DATABASE_UNUSABLE naming both values, where the database is of another base
 */
export async function bindBase(connection: Statements, table: string, base: DatabaseBase, tip: number): Promise<void> {
  const found = await rows<{ name: string; value: string }>(connection, `SELECT name, value FROM ${table}`);
  const stored = new Map(found.map((row) => [row.name, row.value]));
  const wanted = valuesOf(base);
  if (stored.has(DIGEST)) compare(stored, wanted, tip, base.ruledSettings ?? {});
  const changed = [...wanted].filter(([name, value]) => stored.get(name) !== value);
  await write(connection, table, changed);
}

/**
 * Compares a database that is only read with the base that it must be of, as `bindBase` does.
 *
 * @param tip  height of its newest block; -1: there is none
 * @throws {PlatformError} DATABASE_UNUSABLE where it is of another base, or says of none
 */
export async function checkBase(connection: Statements, table: string, base: DatabaseBase, tip: number): Promise<void> {
  const there = await rows(connection, 'SHOW TABLES LIKE ?', [table]);
  const found =
    there.length === 0
      ? []
      : await rows<{ name: string; value: string }>(connection, `SELECT name, value FROM ${table}`);
  const stored = new Map(found.map((row) => [row.name, row.value]));
  if (!stored.has(DIGEST))
    throw new PlatformError('DATABASE_UNUSABLE', {
      reason: `the database has no ${table}, which says by what it was made: an indexer of this release must have opened it`
    });
  compare(stored, valuesOf(base), tip, base.ruledSettings ?? {});
}

/**
 * Compares the first block of a database with the one that it is tied to, or ties it to that one.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE naming both, where blocks at its beginning are gone or others
 */
export async function bindFirstBlock(
  connection: Statements,
  table: string,
  first: { readonly height: number; readonly hash: string }
): Promise<void> {
  const [stored] = await rows<{ value: string }>(connection, `SELECT value FROM ${table} WHERE name = ?`, [
    FIRST_BLOCK
  ]);
  const now = `${first.height} ${first.hash}`;
  if (stored !== undefined && stored.value !== now) {
    const reason = `${FIRST_BLOCK} is ${stored.value} in ${table} and ${now} by the blocks: blocks at the beginning are gone or others; restore a whole copy, or name a new database`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }
  await noteFirstBlock(connection, table, first);
}

/** Notes with which block a database begins. */
export async function noteFirstBlock(
  connection: Statements,
  table: string,
  { height, hash: id }: { readonly height: number; readonly hash: string }
): Promise<void> {
  await write(connection, table, [[FIRST_BLOCK, `${height} ${id}`]]);
}

async function write(
  connection: Statements,
  table: string,
  values: readonly (readonly [string, string])[]
): Promise<void> {
  if (values.length === 0) return;
  const sql = `INSERT INTO ${table} (name, value) VALUES ? ON DUPLICATE KEY UPDATE value = VALUES(value)`;
  await connection.query(sql, [values]);
}

/** Returns a base as rows, with a digest of all of it that operators compare at a glance. */
function valuesOf({ version, settings, activations }: DatabaseBase): Map<string, string> {
  const values = new Map([
    ['version', String(version)],
    ...Object.entries(settings),
    ...Object.entries(activations).map(
      ([name, height]) => [ACTIVATION + name, Number.isFinite(height) ? String(height) : NEVER] as const
    )
  ]);
  const text = [...values].map(([name, value]) => `${name}=${value}`).sort();
  return values.set(DIGEST, hash('sha256', text.join('\n')));
}

function compare(
  stored: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
  tip: number,
  ruled: NonNullable<DatabaseBase['ruledSettings']>
): void {
  const isToCome = (rule: string) => [stored, wanted].every((values) => heightOf(values.get(ACTIVATION + rule)) > tip);
  for (const name of new Set([...wanted.keys(), ...stored.keys()])) {
    const [before, now] = [stored.get(name), wanted.get(name)];
    if (name === DIGEST || name === FIRST_BLOCK || before === now) continue;
    if (name === 'version' && Number(before) <= Number(now)) continue;
    if (name.startsWith(ACTIVATION)) {
      if (isToCome(name.slice(ACTIVATION.length))) continue;
    } else if (ruled[name] !== undefined && isToCome(ruled[name])) {
      continue;
    } else if (before === undefined && name !== 'version') continue; // a setting of this release, with a height of its own
    throw otherBase(name, before, now, tip);
  }
}

/** Returns the height of a rule as it is stored: a rule that is not named is never in force. */
function heightOf(value: string | undefined): number {
  return value === undefined || value === NEVER ? Number.POSITIVE_INFINITY : Number(value);
}

function otherBase(name: string, before: string | undefined, now: string | undefined, tip: number): PlatformError {
  const shown = (value: string | undefined) => value ?? 'not there';
  const where = tip < 0 ? 'no block is written' : `blocks up to ${tip} are written by the former`;
  const reason = `${name} is ${shown(before)} in the database and ${shown(now)} by the settings and the profile; ${where}: use that profile, or name a new database`;
  return new PlatformError('DATABASE_UNUSABLE', { reason });
}
