import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DbType } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { differences, pause, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';
import type { GeneratedSize, Growth } from '../support/tables-in-use/growth.ts';

async function assertEqual(pair: SyncPair, client: SyncProcess, height: number): Promise<void> {
  const verdict = await pair.settle(client, height);
  assert.ok(verdict.equal, JSON.stringify({ heights: verdict.heights, differences: differences(verdict) }));
  assert.deepEqual(verdict.heights, { source: height, replica: height });
  assert.equal((await pair.status(client))['repairs'], 0, `equal without a repair:\n${repairsIn(client.log())}`);
}

function repairsIn(log: string): string {
  return log
    .split('\n')
    .filter((line) => line.includes('differed from its source'))
    .join('\n');
}

/**
 * The promise of the service, tried on one kind of database: after whatever happens, replica and source are equal to the row.
 *
 * @param live blocks that a live replica follows
 */
export function replicationTests(dbType: DbType, growth: Growth, size: GeneratedSize, live: number): void {
  const { appendBlocks: append, appendBacklog: backlog, reorg } = growth;
  const prepare = async (label: string): Promise<SyncPair> => {
    const source = await createDatabase(label);
    await growth.create(source, size);
    return startPair(dbType, source);
  };

  test(`${dbType}: bootstrap, live, a backlog, reorgs and a restart each end equal`, async (t) => {
    const pair = await prepare('follow');
    let client = await pair.startClient();
    let height = await append(pair.source, 1, 'first');
    await t.test('bootstrap', () => assertEqual(pair, client, height));
    await t.test(`live follow of ${live} blocks`, async () => {
      height = await append(pair.source, live, 'live', 5);
      await assertEqual(pair, client, height);
    });
    await t.test('a backlog of 50 blocks read in one group', async () => {
      height = await backlog(pair.source, 50, 'backlog');
      await assertEqual(pair, client, height);
    });
    await t.test('a reorg of depth 30, into that group', async () => {
      height = await reorg(pair.source, 30, 32, 'reorg');
      await assertEqual(pair, client, height);
    });
    await t.test('a reorg at equal height', async () => {
      height = await reorg(pair.source, 1, 1, 'equal');
      await assertEqual(pair, client, height);
    });
    await t.test('a reorg that was missed while the client was away', async () => {
      await client.end();
      height = await reorg(pair.source, 7, 12, 'missed');
      client = await pair.startClient();
      await assertEqual(pair, client, height);
    });
    await t.test('the source actor is killed between blocks', async () => {
      const killed = await pair.server.post(`/debug/actors/${dbType}/litecoin/regtest/kill`);
      assert.ok(killed < 300, `kill answered ${killed}`);
      height = await append(pair.source, 5, 'after kill', 20);
      await assertEqual(pair, client, height);
    });
    await t.test('the replica actor is killed between blocks', async () => {
      const killed = await client.post(`/debug/actors/${dbType}/litecoin/regtest/kill`);
      assert.ok(killed < 300, `kill answered ${killed}`);
      height = await append(pair.source, 5, 'after another kill', 20);
      await assertEqual(pair, client, height);
    });
    await t.test('a reorg happens while the server is down; the client waits for it', async () => {
      await pair.server.end();
      height = await reorg(pair.source, 4, 6, 'while down');
      await pair.restartServer();
      await assertEqual(pair, client, height);
    });
    if (dbType === 'indexer')
      await t.test('each block is compared by its state roots', async () => {
        const roots = async (of: SyncProcess) =>
          (await pair.status(of))['state_commitment'] as { phase: string; height: number };
        for (const side of [pair.server, client])
          await eventually('a balance tree', async () => (await roots(side)).phase === 'ready');
        height = await append(pair.source, 3, 'roots', 50);
        await assertEqual(pair, client, height);
        assert.equal((await roots(client)).height, height);
      });
    await client.end();
    await pair.server.end();
  });

  test(`${dbType}: a reorg right after the bootstrap, below anything the journal knows`, async () => {
    const pair = await prepare('early');
    const client = await pair.startClient();
    await eventually('the bootstrap is complete', async () => (await pair.status(client))['phase'] === 'live');
    const height = await reorg(pair.source, 10, 11, 'early reorg');
    await assertEqual(pair, client, height);
    await client.end();
    await pair.server.end();
  });

  test(`${dbType}: kill -9 of the client during bootstrap and during live`, async (t) => {
    const pair = await prepare('killed');
    let height = await append(pair.source, 1, 'start');
    for (const waitMs of [50, 200, 400, 800]) {
      await t.test(`killed ${waitMs} ms after its start answers`, async () => {
        const client = await pair.startClient();
        await pause(waitMs);
        await client.end('SIGKILL');
      });
    }
    let client = await pair.startClient();
    await t.test('the next start completes', () => assertEqual(pair, client, height));
    await t.test('killed while blocks come', async () => {
      const writing = append(pair.source, 60, 'while killed', 10);
      await pause(250);
      await client.end('SIGKILL');
      client = await pair.startClient();
      height = await writing;
      await assertEqual(pair, client, height);
    });
    await client.end();
    await pair.server.end();
  });
}
