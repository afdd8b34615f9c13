import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { askChains } from '../../../src/hub/chain-facts.ts';
import { configuredServices } from '../../../src/hub/chain-services.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { silentLogger } from '../../../src/log.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { blocksOf, startIndexer } from '../../support/indexer-service.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const ISSUE = 'ISSUE|0|TOKA|1000|0|2||100';

async function register(hub: RunningHub, module: string, params: Readonly<Record<string, unknown>>) {
  const { json } = await hub.call('updateconfig', { config: { litecoin: { regtest: { [module]: params } } } });
  assert.deepEqual(json.result, { status: 'success' });
}

test('an attestation says what the indexer of its chain says: attested, pending, rejected, or unverified', async (t) => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hub = await runHub();
  t.after(hub.stop);
  await decoder.writeBlocks(blocksOf(0, 'a', [[], [ISSUE], [], ['ISSUE|0|TOKB|1000|0|2||100']]));
  const indexer = await startIndexer(databases, {});
  await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === 3);
  const attest = async (source_action_index: number) => {
    const { json } = await hub.call('requestattestation', {
      source_chain: 'LTC',
      source_action_index,
      dest_chain: 'BTC'
    });
    return [json.result.status, json.result.confirmations];
  };
  await hub.call('initiateswap', { source_chain: 'LTC', source_action_index: 1, dest_chain: 'BTC' });
  assert.deepEqual(await attest(1), ['unverified', null], 'the hub knows no indexer');
  await register(hub, 'platform-indexer', { host: '127.0.0.1', service_port: indexer.port });
  assert.deepEqual(await attest(1), ['attested', 3]);
  assert.deepEqual(await attest(2), ['pending', 1]);
  assert.deepEqual(await attest(404), ['rejected', 0], 'no such action');
  const swap = await hub.call('getswap', { source_chain: 'LTC', source_action_index: 1 });
  assert.equal(swap.json.result.status, 'attested');
  indexer.child.kill('SIGTERM');
  await indexer.exited;
  assert.deepEqual(await attest(1), ['attested', 3], 'what is attested stays');
  assert.deepEqual(await attest(2), ['unverified', null]);
  await decoder.database.close();
});

test('a report of a reorg is confirmed when the coin node has the new block there, else rejected', async (t) => {
  const { node } = await startTestLitecoind();
  const [, hash = ''] = await node.mine(3);
  const hub = await runHub();
  t.after(hub.stop);
  const report = async (reorg_height: number, new_hash: string, timestamp: number) => {
    await sql(hub.database, 'UPDATE reorg_attestations SET created_at = created_at - INTERVAL 2 MINUTE'); // one a minute
    const params = { chain: 'LTC', reorg_height, timestamp, old_hash: 'a'.repeat(64), new_hash };
    assert.deepEqual((await hub.call('reportreorg', params)).json.result, { status: 'success' });
    const [newest] = (await hub.call('getreorghistory', {})).json.result;
    return newest.status;
  };
  assert.equal(await report(2, hash, 1), 'unverified', 'the hub knows no node');
  await register(hub, 'platform-node', { host: '127.0.0.1', port: node.rpcPort, user: node.user, pass: node.password });
  assert.equal(await report(2, hash, 1), 'confirmed', 'the same again, and now somebody knows');
  assert.equal(await report(9_999, hash, 2), 'rejected', 'far above the tip');
  assert.equal(await report(2, 'b'.repeat(64), 3), 'rejected', 'another block is there');
});

/** Facts of the services that entries of a configuration name. */
function factsOf(...services: readonly (readonly [string, Readonly<Record<string, unknown>>])[]) {
  const entries = services.flatMap(([module, params]) =>
    Object.entries(params).map(([param, value]) => ({
      coin: 'litecoin',
      network: 'regtest',
      module,
      param,
      value: String(value)
    }))
  );
  return askChains(configuredServices({ read: async () => ({ entries }) } as unknown as HubDatabase), silentLogger);
}

test('a hub has seen a reorg where its coin node knows both blocks, and has the new one', async () => {
  const { node } = await startTestLitecoind();
  const hashes = await node.mine(3);
  const oldHash = hashes[2]!;
  const facts = factsOf([
    'platform-node',
    {
      host: '127.0.0.1',
      port: node.rpcPort,
      user: node.user,
      pass: node.password
    }
  ]);
  const unknown = 'b'.repeat(64);
  assert.equal(await facts.hasReorganised('LTC', 3, unknown, oldHash), null, 'it never saw the old one');
  assert.equal(await facts.hasReorganised('LTC', 3, oldHash, unknown), false);
  assert.equal(await facts.hasReorganised('LTC', 9_999, oldHash, unknown), false, 'far above the tip');
  assert.equal(await facts.hasReorganised('LTC', 2, oldHash, hashes[1]!), null, 'of another height');
  await node.rpc.call('invalidateblock', [oldHash]);
  await node.mine(1);
  const newHash = String(await node.rpc.call('getblockhash', [3]));
  assert.notEqual(newHash, oldHash);
  assert.equal(await facts.hasReorganised('LTC', 3, oldHash, newHash), true);
  assert.equal(await facts.hasReorganised('BTC', 3, oldHash, newHash), null, 'the hub knows no such node');
  await node.mine(201);
  assert.equal(await facts.hasReorganised('LTC', 3, oldHash, newHash), null, 'it is no news');
});

test('an action is told with its block, as its own indexer has it', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  await decoder.writeBlocks(blocksOf(0, 'a', [[], [ISSUE], []]));
  const indexer = await startIndexer(databases, {});
  await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
  const facts = factsOf(['platform-indexer', { host: '127.0.0.1', service_port: indexer.port }]);
  const found = await facts.actionAt('LTC', 1);
  assert.deepEqual([found?.confirmations, found?.place?.action, found?.place?.height], [2, 'ISSUE', 1]);
  assert.match(found!.place!.hash, /^[0-9a-f]{64}$/);
  assert.deepEqual(await facts.actionAt('LTC', 404), { place: null, confirmations: 0 });
  indexer.child.kill('SIGTERM');
  await indexer.exited;
  assert.equal(await facts.actionAt('LTC', 1), null);
  await decoder.database.close();
});

test('an action is in no block of a branch that its indexer took between two answers', async (t) => {
  const [before, after] = ['a'.repeat(64), 'b'.repeat(64)];
  let [height, hash, isTurning] = [5, before, true];
  const indexer = createServer(async (request, response) => {
    const { id, method } = JSON.parse(await text(request)) as { id: unknown; method: string };
    const action = { coin: 'LTC', exists: true, action: 'SEND', block_index: height, confirmations: 3 };
    if (method === 'getactionconfirmations' && isTurning) [height, hash] = [6, after];
    const result = method === 'getblockhashes' ? { coin: 'LTC', block_hash: hash } : action;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }).listen(0, '127.0.0.1');
  t.after(() => void indexer.close());
  await once(indexer, 'listening');
  const { port } = indexer.address() as AddressInfo;
  const facts = factsOf(['platform-indexer', { host: '127.0.0.1', service_port: port }]);
  assert.equal(await facts.actionAt('LTC', 1), null);
  isTurning = false;
  const place = { action: 'SEND', height: 6, hash: after };
  assert.deepEqual(await facts.actionAt('LTC', 1), { place, confirmations: 3 });
});

test('an action that an indexer lacks is none only where the indexer has all blocks of the coin node', async (t) => {
  const { node } = await startTestLitecoind();
  await node.mine(3);
  let latest = 2;
  const indexer = createServer(async (request, response) => {
    const { id } = JSON.parse(await text(request)) as { id: unknown };
    const result = { coin: 'LTC', exists: false, action: null, block_index: null, latest_block_index: latest };
    const reply = { jsonrpc: '2.0', id, result: { ...result, confirmations: 0 } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(reply));
  }).listen(0, '127.0.0.1');
  t.after(() => void indexer.close());
  await once(indexer, 'listening');
  const { port } = indexer.address() as AddressInfo;
  const facts = factsOf(
    ['platform-indexer', { host: '127.0.0.1', service_port: port }],
    ['platform-node', { host: '127.0.0.1', port: node.rpcPort, user: node.user, pass: node.password }]
  );
  const ask = async () => [await facts.actionAt('LTC', 404), await facts.confirmationsOf('LTC', 404, '127.0.0.1')];
  assert.deepEqual(await ask(), [null, null]);
  latest = 3;
  assert.deepEqual(await ask(), [{ place: null, confirmations: 0 }, 0]);
});
