import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDecoder } from '../support/generated-decoder.ts';
import { createDatabase } from '../support/mariadb.ts';
import { openTestHub } from '../support/sync-pair.ts';
import { eventually, startSyncProcess } from '../support/sync-process.ts';

test('databases that the hub names later are served without a restart, and a hub that goes away changes nothing', async () => {
  const hub = await openTestHub();
  const server = await startSyncProcess({
    SYNC_MODE: 'server',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    HUB_REPOLL_INTERVAL: 200
  });
  const path = '/status/decoder/litecoin/regtest';
  const answers = (status: number) =>
    eventually(`${path} answers ${status}`, 10_000, async () => (await server.get(path)).status === status);
  await answers(404);
  assert.match(server.log(), /no indexer databases found in hub config/);

  const source = await createDatabase('watched');
  await createDecoder(source, { seed: 'watch', blocks: 5, rows: 50 });
  await hub.name([['decoder', source]]);
  await answers(200);

  await hub.stop();
  await eventually('the hub is missed', 10_000, async () => /error connecting to the hub/.test(server.log()));
  await answers(200);
  await server.end();
  assert.equal(server.child.exitCode, 0);
});
