import { createHash } from 'node:crypto';
import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import { wireRows } from '../../../db/wire-rows.ts';
import { type BlockHashes, type DatabaseCoordinates, sameBlock } from '../../../wire/data/database.ts';
import { readBlockHeads } from '../../tables/block-hashes.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';

/** The newest row of a table that deals ids: what stays the same in it as long as it is there. */
interface Sample {
  readonly table: string;
  readonly key: string;
  readonly id: string;
  readonly columns: readonly string[];
  /** SHA-256 over the values of these columns, in hex. */
  readonly digest: string;
}

/** Names the database that something was kept of. */
export interface DatabaseMark {
  /** `host:port/name`. */
  readonly place: string;
  /** `@@server_uid`; null where the server has none, as before MariaDB 10.6.16. */
  readonly server: string | null;
  /** Time at which its `blocks` was created: another one at every other database, and after a restored backup or a migration too. */
  readonly created: string | null;
  readonly samples: readonly Sample[];
}

/** The position of a resume point, and the mark of its database. */
interface Kept {
  readonly height: number;
  readonly hashes: BlockHashes;
  readonly recent: readonly { readonly height: number; readonly hashes: BlockHashes }[];
  /** Absent in files of an earlier version. */
  readonly of?: DatabaseMark;
}

/**
 * Names a database in the same way for all that read it, and tells nothing else of it.
 *
 * @returns null where its server has no `@@server_uid`
 */
export function originOf({ server }: DatabaseMark, name: string): string | null {
  return server && createHash('sha256').update(`platform-sync origin\n${server}\n${name}`).digest('hex');
}

/** Returns `host:port/name` of a database. */
export function placeOf({ host, port, socketPath, name }: DatabaseCoordinates): string {
  return `${socketPath ?? `${host}:${port}`}/${name}`;
}

/** Marks the database as it is now. Call it inside a snapshot. */
export async function readMark(
  connection: Connection,
  coordinates: DatabaseCoordinates,
  layout: SourceLayout
): Promise<DatabaseMark> {
  // An older server has no such variable, and would refuse its name.
  const [uid] = await rows<{ Value: string }>(connection, "SHOW GLOBAL VARIABLES LIKE 'server_uid'");
  const [blocks] = await rows<{ created: string | null }>(
    connection,
    "SELECT CREATE_TIME AS created FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'blocks'"
  );
  const samples: Sample[] = [];
  for (const plan of layout.plans) {
    const key = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
    const columns = key === undefined ? [] : lastingColumns(plan, key);
    if (key === undefined || columns.length === 0) continue;
    const row = await readRow(connection, plan, columns, `ORDER BY ${quoteName(key)} DESC LIMIT 1`);
    if (row) samples.push({ table: plan.name, key, id: String(row[key]), columns, digest: digestOf(row, columns) });
  }
  return { place: placeOf(coordinates), server: uid?.Value ?? null, created: blocks?.created ?? null, samples };
}

/**
 * Finds the reason for which a resume point is of another database.
 *
 * It is if place, server and creation are the same. If one of them differs (a backup restored, another machine, a migration,
 * a point without a mark), the content must prove it: a broadcast block is here, and the sampled rows have their ids. Otherwise
 * the source starts at the tip: its clients close the gap, while a resume point of another database would lose changes.
 *
 * @returns why the point is of another database; null: it is of this one
 */
export async function findOtherDatabase(
  connection: Connection,
  layout: SourceLayout,
  kept: Kept,
  now: DatabaseMark
): Promise<string | null> {
  const { of } = kept;
  const differing = of ? differences(of, now) : ['it names no database'];
  if (differing.length === 0) return null;
  const why = differing.join(', ');
  // Blocks without actions have the same hashes in every chain: without samples only the last one counts.
  const known = of?.samples.length ? [...kept.recent, kept] : [kept];
  if (!(await hasOneOf(connection, layout, known))) return `${why}, and none of its blocks is here`;
  for (const sample of of?.samples ?? []) {
    if (!(await holds(connection, layout, sample))) return `${why}, and the newest row of ${sample.table} is another`;
  }
  return null;
}

function differences(kept: DatabaseMark, now: DatabaseMark): string[] {
  const { place, server, created } = kept;
  return [
    ...(place === now.place ? [] : [`it was at ${place}`]),
    ...(server === null || now.server === null || server === now.server ? [] : ['its server was another']),
    ...(created !== null && created === now.created
      ? []
      : [`its blocks were created at ${created}, not ${now.created}`])
  ];
}

async function hasOneOf(
  connection: Connection,
  { heads }: SourceLayout,
  blocks: readonly { readonly height: number; readonly hashes: BlockHashes }[]
): Promise<boolean> {
  const heights = blocks.map(({ height }) => height).filter((height) => height >= 0);
  if (heads === null || heights.length === 0) return false;
  const found = await readBlockHeads(connection, heads, Math.min(...heights), Math.max(...heights));
  const now = new Map(found.map(({ height, hashes }) => [height, hashes]));
  return blocks.some(({ height, hashes }) => now.has(height) && sameBlock(now.get(height)!, hashes));
}

/** Returns whether a row is as its sample has it, and true for a table that lacks the columns by now: there is nothing to compare. */
async function holds(connection: Connection, { plans }: SourceLayout, sample: Sample): Promise<boolean> {
  const plan = plans.find(({ name }) => name === sample.table);
  if (!plan || !sample.columns.every((name) => plan.columns.some((column) => column.name === name))) return true;
  const row = await readRow(connection, plan, sample.columns, `WHERE ${quoteName(sample.key)} = ?`, [sample.id]);
  return row !== undefined && digestOf(row, sample.columns) === sample.digest;
}

/** Returns the columns that stay the same: of a lookup row all, of a scoped row only the id and its parent. */
function lastingColumns({ class: tableClass, storedColumns, scope }: TablePlan, key: string): readonly string[] {
  if (tableClass === 'lookup') return storedColumns.map(({ name }) => name);
  return scope ? [...new Set([key, scope.column])] : [];
}

async function readRow(
  connection: Connection,
  { name, columns }: TablePlan,
  wanted: readonly string[],
  condition: string,
  values: readonly unknown[] = []
): Promise<Record<string, unknown> | undefined> {
  const read = columns.filter((column) => wanted.includes(column.name));
  const sql = (list: string) => `SELECT ${list} FROM ${quoteName(name)} ${condition}`;
  return (await wireRows(connection, { columns: read, sql, values }))[0];
}

function digestOf(row: Record<string, unknown>, columns: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify(columns.map((name) => row[name])))
    .digest('hex');
}
