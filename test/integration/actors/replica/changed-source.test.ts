import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import { type DatabaseCoordinates, DB_TYPES, type DbType } from '../../../../src/wire/data/database.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import * as decoder from '../../../support/sync/generated-decoder.ts';
import * as indexer from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { PAIR_KEY, startTestHub } from '../../../support/sync/sync-pair.ts';
import {
  eventually,
  type SyncProcess,
  startSyncProcess,
  temporaryDirectory
} from '../../../support/sync/sync-process.ts';

/** More rows than a server knows one by one at its start. */
const ROWS = 30_000;
const GENERATED = {
  indexer: { ...indexer, create: indexer.createIndexer },
  decoder: { ...decoder, create: decoder.createDecoder }
};

const mariaDb = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);

/** A database with a large table of rows without a block. */
async function createSource(dbType: DbType): Promise<DatabaseCoordinates> {
  const source = await createDatabase(`changed_${dbType}`, mariaDb.root);
  await GENERATED[dbType].create(source, { seed: 'changed source', blocks: 5, rows: 100 });
  await sql(
    source,
    'CREATE TABLE notes (id INT PRIMARY KEY, n INT NOT NULL)',
    `INSERT INTO notes SELECT seq, 0 FROM seq_1_to_${ROWS}`
  );
  return source;
}

const sources = { indexer: await createSource('indexer'), decoder: await createSource('decoder') };
const source = sources.indexer;
const hubPort = await startTestHub(DB_TYPES.map((dbType) => [dbType, sources[dbType]]));

/** A server of the databases that can be started again, and a way to it on which digests are withheld for as long as a test says. */
async function startServer(dbType: DbType = 'indexer') {
  const path = `/status/${dbType}/litecoin/regtest`;
  const directory = temporaryDirectory('server-state');
  const env = {
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hubPort,
    SYNC_API_KEY: PAIR_KEY,
    SYNC_MODE: 'server',
    SYNC_API_PORT: await freePort(),
    SYNC_STATE_DIR: directory,
    SYNC_BINLOG: 'required',
    BLOCK_POLL_INTERVAL: 30
  };
  const start = async () => {
    const process = await startSyncProcess(env);
    await eventually('it serves', async () => (await process.get(path)).status === 200);
    return process;
  };
  let process: SyncProcess = await start();
  let isHeld = false;
  const { url } = await startLyingSource(process.url, async (path, body) => {
    while (isHeld && path.startsWith('/digest/')) await sleep(50);
    return body;
  });
  return {
    url,
    directory,
    stop: () => process.end('SIGKILL'),
    pause: () => process.child.kill('SIGSTOP'),
    goOn: () => process.child.kill('SIGCONT'),
    start: async () => {
      process = await start();
    },
    holdDigests: (held: boolean) => {
      isHeld = held;
    },
    hasSubscriber: async () =>
      eventually('it has a subscriber', async () => {
        const { subscribers } = (await process.get(path)).body as { subscribers?: readonly unknown[] };
        return (subscribers ?? []).length > 0;
      }),
    at: async (height: number) =>
      eventually(`it is at block ${height}`, async () => (await process.get(path)).body['block_height'] === height)
  };
}

/** A comparison may be under way. */
const isFollowing = (phase: string) => phase === 'live' || phase === 'verifying';

/** Writes a block: with it the replica is not complete without the changed row, and with digests it becomes equal. */
async function isCompleteOnlyIfEqual(
  replica: ReplicaThread,
  at: DatabaseCoordinates,
  id: number,
  release: () => void,
  dbType: DbType = 'indexer'
) {
  const marker = async () =>
    (await sql(at, `SELECT complete, (SELECT n FROM notes WHERE id = ${id}) AS n FROM sync_state`))[0]!;
  const next = await GENERATED[dbType].appendBlocks(sources[dbType], 1, `after a change of ${id}`);
  await replica.until('at the next block', ({ height }) => height === next);
  const { complete, n } = await marker();
  assert.ok(Number(n) === 1 || Number(complete) === 0, 'complete, without a row as its source has it');
  release();
  await eventually('complete', async () => Number((await marker())['complete']) === 1);
  assert.equal(Number((await marker())['n']), 1);
}

test('a replica that changes to a server which read its block at another moment is complete only when it was compared', async () => {
  const [first, second] = [await startServer(), await startServer()];
  await second.at(104);
  await second.stop();
  const at = await createDatabase('changed_source_replica', mariaDb.root);
  const options = { epochSize: 1_000, verifyHashes: false };
  const replica = new ReplicaThread(at, 'indexer', [first.url, second.url], options);
  await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');
  const tip = await indexer.appendBlocks(source, 2, 'of the first');
  await replica.isLiveAt(tip);
  await first.stop();
  // The second server reads the same blocks later, together with this.
  await sql(source, 'UPDATE notes SET n = 1 WHERE id = 100');
  second.holdDigests(true);
  await second.start();
  await second.at(tip);
  await replica.until(
    'the second is followed',
    ({ phase }) => isFollowing(phase) && replica.source(second.url)!.state === 'followed'
  );
  await isCompleteOnlyIfEqual(replica, at, 100, () => second.holdDigests(false));
  await replica.end();
});

for (const dbType of DB_TYPES)
  test(`a replica is complete only when it was compared, where its server was started with an older state directory: ${dbType}`, async () => {
    const server = await startServer(dbType);
    const at = await createDatabase(`changed_${dbType}_older`, mariaDb.root);
    const replica = new ReplicaThread(at, dbType, [server.url], { epochSize: 1_000, verifyHashes: false });
    await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');
    await server.stop();
    const older = temporaryDirectory('older-state');
    cpSync(server.directory, older, { recursive: true });
    await server.start();
    const tip = await GENERATED[dbType].appendBlocks(sources[dbType], 2, 'above the older state');
    await replica.isLiveAt(tip);
    await server.stop();
    await sql(sources[dbType], 'UPDATE notes SET n = 1 WHERE id = 200');
    rmSync(server.directory, { recursive: true });
    cpSync(older, server.directory, { recursive: true });
    server.holdDigests(true);
    await server.start();
    await server.at(tip);
    await replica.until('the server is followed again', ({ phase }) => isFollowing(phase));
    await isCompleteOnlyIfEqual(replica, at, 200, () => server.holdDigests(false), dbType);
    await replica.end();
  });

/** One name before several servers, of which it leads to one. */
async function openName(port: number) {
  const sockets = new Set<Socket>();
  let target = port;
  const door = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [near, far].map((each) => each.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  atEnd(async () => {
    door.close();
    cut();
  });
  const { port: own } = door.address() as { port: number };
  return {
    url: `http://127.0.0.1:${own}`,
    leadTo: (other: number) => {
      target = other;
      cut();
    }
  };
}

test('a replica is complete only when it was compared, where another server answers under the name of its source', async () => {
  const [first, second] = [await startServer(), await startServer()];
  const name = await openName(Number(new URL(first.url).port));
  const at = await createDatabase('changed_source_name', mariaDb.root);
  const replica = new ReplicaThread(at, 'indexer', [name.url], { epochSize: 1_000, verifyHashes: false });
  await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');
  second.pause();
  const tip = await indexer.appendBlocks(source, 2, 'of the first under one name');
  await replica.isLiveAt(tip);
  await sql(source, 'UPDATE notes SET n = 1 WHERE id = 300');
  second.goOn();
  await second.at(tip);
  second.holdDigests(true);
  name.leadTo(Number(new URL(second.url).port));
  await first.stop();
  await second.hasSubscriber();
  await replica.until('the second is followed', ({ phase }) => isFollowing(phase));
  await isCompleteOnlyIfEqual(replica, at, 300, () => second.holdDigests(false));
  await replica.end();
});
