import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import { type PrivateMariaDb, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { atEnd } from '../support/cleanup.ts';
import { makeServerDirectory } from '../support/mariadb.ts';
import { appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { differences, pause, startPair } from '../support/sync/sync-pair.ts';

test('MariaDB of source and replica is killed while blocks come, and restarted: the replica ends equal', async () => {
  const directory = makeServerDirectory();
  let mariadb: PrivateMariaDb = await startMariaDb(directory);
  atEnd(() => mariadb.stop('SIGKILL'));
  const source = { ...mariadb.root, name: 'restarted' };
  const connection = await connect(mariadb.root);
  await connection.query('CREATE DATABASE restarted');
  await connection.end();
  await createIndexer(source, { seed: 'restart', blocks: 50, rows: 2_000 });
  const pair = await startPair('indexer', source, { CIRCUIT_COOLDOWN_MS: 500 });
  const client = await pair.startClient({ CIRCUIT_COOLDOWN_MS: 500 });
  const first = await pair.settle(client, await appendBlocks(source, 3, 'before'));
  assert.ok(first.equal, JSON.stringify(differences(first)));

  for (const downMs of [0, 2_000]) {
    const writing = appendBlocks(source, 200, 'killed', 5).catch(() => undefined); // its connection dies with MariaDB
    await pause(300);
    await mariadb.stop('SIGKILL');
    await writing;
    await pause(downMs);
    mariadb = await startMariaDb(directory, [], mariadb.port);
    const verdict = await pair.settle(client, await appendBlocks(source, 2, `after ${downMs}`));
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  }
  await client.end();
  await pair.server.end();
});
