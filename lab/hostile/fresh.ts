import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { type ServiceOrder, startService } from '../../src/devnet/processes/process.ts';
import { orderOf, planOf } from '../../src/devnet/services.ts';
import { type DevnetSettings, databaseOn } from '../../src/devnet/settings.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DbType } from '../../src/wire/data/database.ts';

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

/** Decodes and indexes the chain once more from its first block. @returns a line for each table that differs */
export async function compareWithFresh(
  platform: Platform,
  settings: DevnetSettings,
  signal: AbortSignal
): Promise<readonly string[]> {
  const { database, coin, node } = platform;
  const ports = { ...settings.ports, decoder: await freePort(), indexer: await freePort() };
  const fresh = { ...settings, ports };
  const plan = planOf(fresh, database, coin);
  const name = (dbType: DbType) => databaseOn(database, dbType, PREFIX).name;
  const names = { DECODER_DB_NAME: name('decoder'), INDEXER_DB_NAME: name('indexer') };
  const renamed = (order: ServiceOrder): ServiceOrder => ({
    ...order,
    name: `${PREFIX}${order.name}`,
    env: { ...order.env, ...names },
    directory: `${order.directory}-fresh`,
    logFile: order.logFile.replace(/\.log$/, '-fresh.log')
  });
  const decoder = await startService(renamed(orderOf(fresh, plan, 'decoder')), signal);
  const indexer = await startService(renamed(orderOf(fresh, plan, 'indexer')), signal);
  const lines: string[] = [];
  try {
    const height = await node.getHeight();
    for (const dbType of ['decoder', 'indexer'] as const) {
      await waitForBlock(database, name(dbType), height, signal);
      const { tables } = await compareDatabases(databaseOn(database, dbType), databaseOn(database, dbType, PREFIX), {
        ids: true
      });
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
