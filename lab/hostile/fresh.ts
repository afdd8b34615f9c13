import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { databaseOn } from '../../src/devnet/settings.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DbType } from '../../src/wire/data/database.ts';
import type { Beside } from './beside.ts';

const PREFIX = 'fresh_';
const DEADLINE_MS = 120_000;
/** Tables of the services' own life, and those that a sync server adds. */
const OF_THEIR_LIFE: ReadonlySet<string> = new Set([
  'events',
  'mempool',
  'push_generations',
  'sync_meta',
  'merkle_epochs'
]);

/** Settings by which a decoder and an indexer have databases of their own. */
export function freshDatabases(database: Platform['database']) {
  const name = (dbType: DbType) => databaseOn(database, dbType, PREFIX).name;
  return { DECODER_DB_NAME: name('decoder'), INDEXER_DB_NAME: name('indexer') };
}

/** Decodes and indexes the chain once more from its first block. @returns a line for each table that differs */
export async function compareWithFresh(
  { database, node }: Platform,
  beside: Beside,
  signal: AbortSignal
): Promise<readonly string[]> {
  const variables = freshDatabases(database);
  const decoder = await beside.start('decoder', { name: 'fresh', variables });
  const indexer = await beside.start('indexer', { name: 'fresh', variables });
  const lines: string[] = [];
  try {
    const height = await node.getHeight();
    for (const dbType of ['decoder', 'indexer'] as const) {
      const fresh = databaseOn(database, dbType, PREFIX);
      await waitForBlock(database, fresh.name, height, signal);
      const { tables } = await compareDatabases(databaseOn(database, dbType), fresh, { ids: true });
      for (const { table, equal, rows: count, schema, differences } of tables)
        if (!equal && !OF_THEIR_LIFE.has(table)) {
          const first = schema[0] ?? JSON.stringify(differences[0] ?? null);
          lines.push(`fresh ${dbType}: ${table}: ${count.source} and ${count.replica} rows; first: ${first}`);
        }
    }
  } finally {
    await indexer.stop();
    await decoder.stop();
  }
  return lines;
}

/** Waits until a decoder or indexer has written a block. @param database its name @throws {Error} after two minutes */
export async function waitForBlock(
  server: Platform['database'],
  database: string,
  height: number,
  signal: AbortSignal
): Promise<void> {
  const connection = await connect({ ...server, name: database });
  try {
    for (const until = Date.now() + DEADLINE_MS; Date.now() < until; await sleep(200, undefined, { signal })) {
      const [row] = await rows<{ top: unknown }>(connection, 'SELECT MAX(block_index) AS top FROM blocks').catch(
        () => []
      );
      if (Number(row?.top) === height) return;
    }
    throw new Error(`${database} is not at block ${height} after ${DEADLINE_MS / 1000} s`);
  } finally {
    connection.destroy();
  }
}
