import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../../src/db/connection.ts';
import { PlatformError } from '../../../../src/errors.ts';
import type { RunBuild } from '../../../../src/replication/snapshot/artifact-store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import type { SnapshotQuery } from '../../../../src/wire/data/snapshot.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { type FrontDoor, type FrontDoorOptions, openFrontDoor } from '../../../support/sync/front-door.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';
import { INDEXER, openPool } from './support.ts';

export const PATH = '/snapshot/indexer/bitcoin/regtest';
export const pool = openPool();

/** A table of some megabytes that compress badly, and one after it that a test can lock to hold a build in mid-stream. */
export async function database(megabytes = 2): Promise<DatabaseCoordinates> {
  const coordinates = await createDatabase('artifact');
  await run(
    coordinates,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT, ledger_hash CHAR(64), actions_hash CHAR(64), contract_hash CHAR(64))',
    'INSERT INTO blocks SELECT seq, seq, SHA2(seq, 256), SHA2(seq + 1, 256), NULL FROM seq_1_to_9',
    'CREATE TABLE bulk (id INT PRIMARY KEY, noise TEXT)',
    `INSERT INTO bulk SELECT seq, CONCAT(SHA2(seq, 512), SHA2(-seq, 512)) FROM seq_1_to_${megabytes * 3600}`,
    'CREATE TABLE zz_gate (id INT PRIMARY KEY)',
    'INSERT INTO zz_gate VALUES (1)'
  );
  return coordinates;
}

export async function run(coordinates: DatabaseCoordinates, ...statements: string[]): Promise<void> {
  const connection = await connect(coordinates);
  for (const statement of statements) await connection.query(statement);
  await connection.end();
}

export interface Site extends FrontDoor {
  readonly place: { readonly host: string; readonly port: number };
  /** Builds that were begun. */
  readonly builds: () => number;
  /** Broadcasts a new block, with which the next order is another one. */
  readonly newBlock: () => void;
  /** Ends the threads of running builds. */
  readonly killBuilds: () => void;
}

/** The front door with real builds on the pool. */
export async function open(coordinates: DatabaseCoordinates, options: FrontDoorOptions = {}): Promise<Site> {
  let begun = 0;
  let tip = 9;
  let killer = new AbortController();
  const runBuild: RunBuild = (input, { signal, transfer }) => {
    begun++;
    const either = AbortSignal.any([killer.signal, signal]);
    return pool.run('sync/build-snapshot', input, { transfer, signal: either });
  };
  const frontDoor = await openFrontDoor({
    runBuild,
    answers: {
      'snapshot.describe': ({ query }: { query: SnapshotQuery }) => {
        if (query.since === 1_000) throw new PlatformError('BLOCKS_CAUGHT_UP', {});
        if (query.since === 2_000) throw new PlatformError('BLOCKS_EMPTY', {});
        return { key: `tip ${tip}`, id: INDEXER, coordinates, query, localTables: [], finderKey: TEST_KEY };
      }
    },
    ...options
  });
  await frontDoor.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = frontDoor.app.server.address() as { port: number };
  return {
    ...frontDoor,
    place: { host: '127.0.0.1', port },
    builds: () => begun,
    newBlock: () => {
      tip++;
      frontDoor.fanOut.setPoint(INDEXER, {
        height: tip,
        blockTime: null,
        hashes: { ledger_hash: `${tip}`, actions_hash: null, contract_hash: null }
      });
    },
    killBuilds: () => {
      killer.abort(new Error('killed'));
      killer = new AbortController();
    }
  };
}

export async function get({ place }: Site, headers: Record<string, string> = {}, path = PATH, method = 'GET') {
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
  request({ ...place, path, method, headers, agent: false })
    .on('response', resolve)
    .on('error', reject)
    .end();
  const response = await promise;
  return { status: response.statusCode, headers: response.headers, response, body: () => buffer(response) };
}

export async function download(site: Site, headers: Record<string, string> = {}, path = PATH) {
  const answer = await get(site, headers, path);
  return { ...answer, bytes: await answer.body() };
}

/** Holds a table's metadata lock, at which a build waits. */
export async function closeGate(coordinates: DatabaseCoordinates): Promise<() => Promise<void>> {
  const connection = await connect(coordinates);
  await connection.query('LOCK TABLES zz_gate WRITE');
  return async () => connection.destroy();
}

export async function waitForBuild(coordinates: DatabaseCoordinates): Promise<number> {
  const connection = await connect(coordinates);
  try {
    for (let tries = 0; tries < 1_000; tries++) {
      const [found] = await rows<{ id: number }>(
        connection,
        "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '/* platform-snapshot %zz_gate%'",
        [coordinates.name]
      );
      if (found) return found.id;
      await sleep(10);
    }
    throw new Error('no build waits at the gate');
  } finally {
    await connection.end();
  }
}

/** Builds that have a statement at the database. */
export async function countBuilds({ name, ...server }: DatabaseCoordinates): Promise<number> {
  const connection = await connect(server);
  const [row] = await rows(
    connection,
    "SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '/* platform-snapshot %zz_gate%'",
    [name]
  );
  await connection.end();
  return Number(row?.['n']);
}
