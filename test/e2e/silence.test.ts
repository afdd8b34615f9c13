import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import { freeze, thaw } from '../support/freeze.ts';
import { createDatabase, dropAfterwards, startOwnServer } from '../support/mariadb.ts';
import { PAIR_KEY, REPLICA_PREFIX, startPair } from '../support/sync/sync-pair.ts';
import { eventually, replicasAt, type SyncProcess } from '../support/sync/sync-process.ts';
import { createLedger } from '../support/tables-in-use/ledger.ts';

const TOLD_MS = 10_000;

async function readiness({ url }: SyncProcess): Promise<string> {
  const response = await fetch(`${url}/readyz`);
  return `${response.status} ${await response.text()}`;
}

async function metric({ url }: SyncProcess, name: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${PAIR_KEY}` } });
  return Number(new RegExp(`^${name}{.*} (\\d+)`, 'm').exec(await response.text())?.[1] ?? Number.NaN);
}

test('a MariaDB or a server that stands still is told within ten seconds by its server and its client', async (t) => {
  const { root, pid } = await startOwnServer();
  const source = await createDatabase('silence', root);
  const writer = await connect(source);
  t.after(() => writer.destroy());
  const ledger = await createLedger(writer, { dbType: 'decoder', seed: 'silence', size: 'short', chain: 'litecoin' });
  const elsewhere = await createDatabase('silent_replica');
  dropAfterwards(elsewhere, REPLICA_PREFIX + source.name);
  const pair = await startPair('decoder', source);
  const client = await pair.startClient(replicasAt(elsewhere));
  const { height } = await ledger.writeBlock();
  const isLive = async () => {
    const { block_height: at, phase } = await pair.status(client);
    return at === height && phase === 'live';
  };
  await eventually('live', isLive);
  const isWell = async () => {
    const [own, server] = [await pair.status(client), await pair.status(pair.server)];
    const words = [await readiness(client), await readiness(pair.server)];
    return (
      own['source_silent_s'] === 0 && server['database_silent_s'] === 0 && words.every((word) => /ready/.test(word))
    );
  };
  await eventually('well', isWell);

  await t.test('the MariaDB of the source', async () => {
    await freeze(pid);
    try {
      await eventually('told by the server', TOLD_MS, async () => {
        const { database_silent_s: seconds, last_error: error } = await pair.status(pair.server);
        return Number(seconds) > 0 && /has answered nothing for \d+ s/.test(String(error));
      });
      await eventually('told by the client', 2_000, async () => {
        const { source_silent_s: seconds, last_error: error } = await pair.status(client);
        return Number(seconds) > 0 && /the MariaDB of .* has answered nothing/.test(String(error));
      });
      assert.match(await readiness(pair.server), /^503 .*unavailable/);
      assert.match(await readiness(client), /^503 .*behind/);
      assert.ok((await metric(pair.server, 'sync_database_silent_seconds')) > 0);
      assert.ok((await metric(client, 'sync_replica_source_silent_seconds')) > 0);
      await eventually('told by both logs', 5_000, async () =>
        [pair.server, client].every(({ log }) => log().includes('has answered nothing for'))
      );
    } finally {
      thaw(pid);
    }
    await eventually('well again', isWell);
  });

  await t.test('the server', async () => {
    await freeze(pair.server.child.pid!);
    try {
      await eventually('told by the client', TOLD_MS, async () => {
        const { source_silent_s: seconds, last_error: error } = await pair.status(client);
        return Number(seconds) > 0 && String(error).includes(`${pair.server.url} has answered nothing`);
      });
      assert.match(await readiness(client), /^503 .*behind/);
    } finally {
      thaw(pair.server.child.pid!);
    }
    await eventually('well again', isWell);
  });
});
