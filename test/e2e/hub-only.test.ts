import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { callMethod } from '../../src/service/rpc/call-method.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { runHub } from '../support/hub/run-hub.ts';
import { startTestLitecoind } from '../support/litecoin.ts';
import { createDatabase } from '../support/mariadb.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { eventually } from '../support/sync/sync-process.ts';

/** The coins of the first one may be spent. */
const BLOCKS = 101;

test('decoder, indexer, explorer, encoder, tracker and sync start by HUB_API_HOST alone, and work', async (t) => {
  const { node } = await startTestLitecoind();
  const miner = await node.newAddress();
  await node.mine(BLOCKS, miner);
  const databases = {
    decoder: await createDatabase('decoder'),
    indexer: await createDatabase('indexer'),
    tracker: await createDatabase('tracker')
  };
  const ports = {
    decoder: await freePort(),
    indexer: await freePort(),
    tracker: await freePort(),
    encoder: await freePort(),
    explorer: await freePort(),
    sync: await freePort()
  };
  const hub = await runHub();
  t.after(hub.stop);
  const moduleOf = ({ host, port, name, user, pass }: DatabaseCoordinates, service_port: number) => ({
    db_host: host,
    db_port: port,
    name,
    user,
    pass,
    service_port
  });
  const modules = {
    'platform-node': { host: '127.0.0.1', port: node.rpcPort, user: node.user, pass: node.password },
    'platform-decoder': moduleOf(databases.decoder, ports.decoder),
    'platform-indexer': moduleOf(databases.indexer, ports.indexer),
    'platform-utxo-tracker': { host: '127.0.0.1', ...moduleOf(databases.tracker, ports.tracker) },
    'platform-encoder': { service_port: ports.encoder },
    'platform-explorer': { service_port: ports.explorer },
    'platform-sync': { service_port: ports.sync }
  };
  const updated = await hub.call('updateconfig', { config: { litecoin: { regtest: modules } } });
  assert.deepEqual(updated.json.result, { status: 'success' }, JSON.stringify(updated.json));

  const start = (name: string, more: Readonly<Record<string, string>> = {}) =>
    startServiceProcess(name, { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port), ...more });
  const until = (what: string, { output }: ReturnType<typeof start>, isTrue: () => Promise<boolean>) =>
    eventually(what, () => isTrue().catch(() => false)).catch((caught) => {
      throw new Error(`${what}\n${output()}`, { cause: caught });
    });
  const call = async (port: number, method: string, params = {}) =>
    (await callMethod(`http://127.0.0.1:${port}/`, method, params, {
      signal: AbortSignal.timeout(5_000)
    })) as Readonly<Record<string, unknown>>;

  const decoder = start('decoder');
  await until('blocks are decoded', decoder, async () => {
    const { block_index, is_synced } = await call(ports.decoder, 'getlatestblock');
    return block_index === BLOCKS && is_synced === true;
  });
  assert.match(
    decoder.output(),
    /settings taken from the hub: NETWORK, NODE_URL, NODE_PORT, NODE_USER, NODE_PASSWORD, /
  );

  const indexer = start('indexer');
  await until('blocks are indexed', indexer, async () => {
    return (await call(ports.indexer, 'getlatestblock'))['block_index'] === BLOCKS;
  });
  assert.match(indexer.output(), /settings taken from the hub: INDEXER_COIN, INDEXER_NETWORK, /);

  const tracker = start('utxo');
  await until('the tracker has the coins of the miner', tracker, async () => {
    return (await call(ports.tracker, 'get_sync_status'))['committed_height'] === BLOCKS;
  });

  const encoder = start('encoder');
  await until('the encoder finds the coins of the miner at the tracker', encoder, async () => {
    const coins = await callMethod(
      `http://127.0.0.1:${ports.encoder}/`,
      'get_utxos',
      { address: miner },
      {
        signal: AbortSignal.timeout(5_000)
      }
    );
    return Array.isArray(coins) && coins.length > 0;
  });

  assert.match(encoder.output(), /settings taken from the hub: .*UTXO_TRACKER_URL, UTXO_TRACKER_API_PORT/);

  const explorer = start('explorer');
  await until('the explorer knows the blocks', explorer, async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.explorer}/RLTC/api/block/${BLOCKS}`);
    return answer.status === 200 && JSON.stringify(await answer.json()).includes(`${BLOCKS}`);
  });

  const directory = mkdtempSync(join(tmpdir(), 'platform-hub-only-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const sync = start('sync', { SYNC_STATE_DIR: directory }); // that of the machine may be another test's
  for (const dbType of ['decoder', 'indexer'])
    await until(`sync serves the ${dbType}`, sync, async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.sync}/status/${dbType}/litecoin/regtest`);
      return answer.status === 200 && JSON.stringify(await answer.json()).includes(`:${BLOCKS}`);
    });
  assert.match(sync.output(), /settings taken from the hub: SYNC_MODE, SYNC_API_PORT/);
  const printed = [decoder, indexer, tracker, encoder, explorer, sync].map(({ output }) => output()).join('');
  for (const secret of [node.password, databases.decoder.pass])
    assert.ok(!printed.includes(secret), 'a secret is logged');
});
