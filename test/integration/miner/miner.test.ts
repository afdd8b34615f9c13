import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { silentLogger } from '../../../src/log.ts';
import { createMinerApp } from '../../../src/miner/app.ts';
import { Miner } from '../../../src/miner/miner.ts';
import { MinerWallet } from '../../../src/miner/wallet.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';
import { atEnd } from '../../support/cleanup.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { FRAME_CONFIG } from '../../support/frame.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { nodeEnv, startProgram } from '../../support/service-process.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const KEY = 'key-of-the-miner-in-tests';

/** A miner beside a litecoind of its own, without the process around it. */
async function startMiner({ idleMs = 0, hasExtensionBlock = false } = {}) {
  const { node } = await startTestLitecoind({ hasExtensionBlock });
  const rpc = new NodeRpc({ url: node.url, user: node.user, password: node.password, retries: 0 });
  const wallet = new MinerWallet(rpc, NETWORK);
  const chain = new NodeChain(rpc);
  const verify = (signal: AbortSignal) => chain.verifyNetwork(NETWORK, signal);
  const miner = new Miner({ wallet, verify, idleMs, log: silentLogger });
  const app = createMinerApp({
    version: '1.0.0',
    log: silentLogger,
    metrics: createMetrics({ service: 'miner', actors: () => [] }),
    consoleFiles: new Map(),
    tracing: undefined,
    config: { ...FRAME_CONFIG, MINER_API_KEY: [KEY], MINER_RATE_LIMIT_RPM: 1_000_000 },
    network: NETWORK,
    serves: (code) => code.toUpperCase() === NETWORK.code,
    miner,
    wallet
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const stopping = new AbortController();
  const ended = miner.run(stopping.signal);
  const ask = async (method: string, params: object = {}, key = KEY) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of many methods
    return { status: response.status, ...((await response.json()) as { result?: any; error?: any }) };
  };
  const stop = async () => {
    stopping.abort();
    await ended;
    await app.close();
    await rpc.close();
  };
  return { node, miner, url, ask, stop };
}

async function until(what: string, isTrue: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadline, `not within ${withinMs} ms: ${what}`);
    await sleep(20);
  }
}

test('a payment confirms within 2 s at IDLE_MINE_INTERVAL_MS=1000', async () => {
  const { node, miner, ask, stop } = await startMiner({ idleMs: 1_000 });
  await until('ready', () => miner.state.isReady);
  const address = await node.newAddress();
  const sentAt = performance.now();
  const { result: txid } = await ask('send_funds', { address, amount: 1.5 });
  await until('confirmed', async () => {
    const { confirmations } = (await node.rpc.call('getrawtransaction', [txid, true])) as { confirmations?: string };
    return Number(confirmations ?? 0) > 0;
  });
  assert.ok(performance.now() - sentAt < 2_000, `${performance.now() - sentAt} ms`);
  assert.equal(Number(await node.rpc.call('getreceivedbyaddress', [address])), 1.5);
  await stop();
});

test('every method does what it says, and refuses what it cannot', async () => {
  const { node, miner, url, ask, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  assert.equal(await node.height(), 101);
  assert.deepEqual((await ask('ping', {}, 'none')).result, { status: 'success', ready: true });
  assert.equal((await ask('generate_blocks', { count: 1 }, 'none')).status, 401);

  const { result: mined } = await ask('generate_blocks', { count: 120 });
  assert.deepEqual([mined.count, mined.hashes.length, await node.height()], [120, 120, 221]);
  assert.equal((await ask('generate_blocks', { count: 10_001 })).error.code, -32602);

  assert.deepEqual((await ask('pause_mining')).result, 'ok');
  await ask('set_mining_time', { max_time: 1_000, tx_added_time: 1_000 });
  assert.equal((await ask('set_mining_time', { max_time: 30, tx_added_time: 5 })).error.code, -32602);
  assert.deepEqual((await ask('fill_mempool', { tx_quantity: 200 })).result, { count: 200 });
  assert.deepEqual(Object(await node.rpc.call('getmempoolinfo')).size, 200);
  await until('seen', () => miner.state.mempoolSize === 200);
  assert.equal((await ask('status')).result.mining_paused, true);
  assert.equal(await node.height(), 222);
  await ask('continue_mining');
  await ask('set_idle_mine_interval', { interval_ms: 1_000 });
  await until('mined', () => miner.state.mempoolSize === 0);
  await ask('set_idle_mine_interval', { interval_ms: 0 });
  await ask('set_default_mining_time');
  await ask('pause_mining');

  const tip = String(await node.rpc.call('getbestblockhash'));
  const height = await node.height();
  assert.equal((await ask('invalidate_block', { block_hash: tip })).result, 'ok');
  assert.equal(await node.height(), height - 1);
  assert.equal((await ask('reconsider_block', { block_hash: tip })).result, 'ok');
  assert.equal(await node.height(), height);
  const unknown = await ask('invalidate_block', { block_hash: 'ab'.repeat(32) });
  assert.equal(unknown.error.data.code, 'RECORD_UNKNOWN');
  const first = await ask('invalidate_block', { block_hash: NETWORK.genesisHash });
  assert.deepEqual([first.error.code, await node.height()], [-32602, height]);

  const foreign = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  const refused = await ask('send_funds', { address: foreign, amount: '1' });
  assert.match(JSON.stringify(refused.error), /is an address of bitcoin mainnet; this service serves litecoin regtest/);
  const misdirected = await ask('generate_blocks', { count: 1, address: foreign });
  assert.equal(misdirected.error.code, -32602);
  const address = await node.newAddress();
  const { result: paid } = await ask('generate_blocks', { count: 1, address });
  const block = JSON.stringify(await node.rpc.call('getblock', [paid.hashes[0], 2]));
  assert.ok(block.includes(address), 'the reward is its');
  assert.match(JSON.stringify((await ask('send_funds', { address, amount: '0' })).error), /more than 0/);
  assert.equal((await ask('send_funds', { address, amount: '9000000' })).error.data.code, 'COINS_INSUFFICIENT');
  for (const amount of ['0.00000001', '84000001', '9999999999']) {
    const { error } = await ask('send_funds', { address, amount });
    assert.deepEqual([error.code, error.data.code], [-32602, 'REQUEST_INVALID'], JSON.stringify(error));
    assert.match(error.message, /^amount: /);
  }
  assert.match((await ask('send_funds', { address: address.toUpperCase(), amount: '0.1' })).result, /^[0-9a-f]{64}$/);
  assert.equal((await ask('set_mock_time', { timestamp: 2_000_000_000 })).result, 'ok');
  assert.equal((await ask('set_mock_time', { timestamp: 0 })).result, 'ok');

  assert.match(await (await fetch(url)).text(), /send me coins/);
  assert.equal((await fetch(`${url}/status`)).status, 200);
  await node.stop('SIGKILL');
  await until('stalled', async () => (await ask('health')).status === 503, 30_000);
  assert.match((await ask('health')).result.reason, /coin node/);
  await stop();
});

test('send_funds: each txid that it answers is in the mempool; a payment that no mempool takes is refused, and its coins come back', async () => {
  const { node, miner, ask, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  await ask('pause_mining');
  const address = await node.newAddress();
  const answers = [];
  for (let at = 0; at < 30; at++) answers.push(await ask('send_funds', { address, amount: '0.1' }));
  const paid = answers.flatMap(({ result }) => (result === undefined ? [] : [String(result)]));
  const waiting = (await node.rpc.call('getrawmempool')) as readonly string[];
  assert.deepEqual(paid.toSorted(), [...waiting].sort());
  const refused = answers.filter(({ error }) => error);
  assert.ok(refused.length > 0 && paid.length >= 25, `${paid.length} paid`);
  assert.equal(refused[0]!.error.data.code, 'COINS_INSUFFICIENT');
  assert.match(JSON.stringify(refused), /mempool did not take the payment.*generate_blocks/);
  await ask('generate_blocks', { count: 1 });
  assert.match(
    (await ask('send_funds', { address, amount: '40' })).result,
    /^[0-9a-f]{64}$/,
    'the change is free again'
  );
  await stop();
});

test('a node that refuses blocks after a mock time far ahead: /status tells its own reason', async () => {
  const { miner, ask, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  await ask('set_mock_time', { timestamp: 4_294_967_000 });
  await ask('generate_blocks', { count: 12 });
  await ask('set_mock_time', { timestamp: 0 });
  await ask('set_idle_mine_interval', { interval_ms: 1_000 });
  await until('stalled', async () => (await ask('health')).status === 503, 30_000);
  assert.match((await ask('health')).result.reason, /the coin node refuses: .*time-too/);
  await stop();
});

test('fill_mempool: thousands of payments on a fresh chain, twice; COINS_INSUFFICIENT when there are no coins', async () => {
  const { node, miner, ask, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  await ask('pause_mining');
  for (const count of [4_000, 1_000]) {
    assert.deepEqual((await ask('fill_mempool', { tx_quantity: count })).result, { count });
    assert.equal(Number(Object(await node.rpc.call('getmempoolinfo')).size), count);
    await ask('generate_blocks', { count: 1 });
  }
  const paid = await ask('send_funds', { address: await node.newAddress(), amount: 0.5 });
  assert.match(String(paid.result), /^[0-9a-f]{64}$/, JSON.stringify(paid.error));
  const address = String(Object(await node.rpc.call('decodescript', [`0014${'00'.repeat(20)}`])).addresses[0]);
  await node.rpc.call('sendtoaddress', [address, await node.rpc.call('getbalance'), '', '', true]);
  const { error } = await ask('fill_mempool', { tx_quantity: 1 });
  assert.deepEqual([error?.data.code, error?.code], ['COINS_INSUFFICIENT', -32603]);
  await stop();
});

test('a wallet that the node closed, as it does when it restarts, is opened again', async () => {
  const { node, miner, ask, stop } = await startMiner({ idleMs: 1_000 });
  await until('ready', () => miner.state.isReady);
  await node.rpc.call('unloadwallet', ['platform']);
  const before = await node.height();
  await until('mined again', async () => (await node.height()) > before);
  await node.rpc.call('createwallet', ['second']);
  await until('it cannot choose', () => miner.state.consecutiveErrors > 1);
  await assert.rejects(new MinerWallet(node.rpc, NETWORK).prepare(), /2 wallets open.*unloadwallet/);
  await node.rpc.call('unloadwallet', ['second']);
  await until('well again', () => miner.state.consecutiveErrors === 0);
  assert.equal((await ask('send_funds', { address: 'nobody', amount: 1 })).error.code, -32602);
  await stop();
});

test('it makes the payment that the first extension block of litecoin needs', async () => {
  const { node, miner, ask, stop } = await startMiner({ hasExtensionBlock: true });
  await until('ready', () => miner.state.isReady);
  const { result } = await ask('generate_blocks', { count: 350 });
  assert.equal(result?.count, 350);
  assert.equal(await node.height(), 451);
  assert.equal(await node.rpc.call('getblockhash', [451]), result.hashes.at(-1));
  await stop();
});

/** A litecoind of the main network, which talks to nobody and knows the first block alone. */
async function startMainnetNode(): Promise<{
  readonly rpcPort: number;
  readonly user: string;
  readonly password: string;
}> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-main-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const door = { rpcPort: await freePort(), user: 'main', password: 'password-of-the-main-node' };
  const alone = ['-listen=0', '-connect=0', '-dnsseed=0', '-disablewallet=1', '-dbcache=4'];
  const rpc = [`-rpcport=${door.rpcPort}`, `-rpcuser=${door.user}`, `-rpcpassword=${door.password}`, '-server=1'];
  const { exited, output, child } = startProgram('litecoind', [`-datadir=${directory}`, ...alone, ...rpc], {
    HOME: directory
  });
  const asked = new NodeRpc({ url: `http://127.0.0.1:${door.rpcPort}`, ...door, retries: 0 });
  const answers = () =>
    asked.call('getblockcount').then(
      () => true,
      () => false
    );
  await until('the node answers', answers).catch((caught: unknown) => assert.fail(`${String(caught)}: ${output()}`));
  await asked.close();
  atEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return door;
}

test('NODE_MISMATCH: it does not mine on a node of mainnet, whatever NETWORK says', async () => {
  const { code, stderr } = await runCommandLine(['miner', '--no-guardian'], {
    ...nodeEnv(await startMainnetNode()),
    REGTEST_MINER_API_HOST: '127.0.0.1',
    REGTEST_MINER_API_PORT: String(await freePort())
  });
  assert.equal(code, 78);
  assert.match(stderr, /NETWORK is litecoin-regtest, but the node serves the chain \\?"main\\?"/);
});

test('NODE_MISMATCH, CONFIG_INVALID: it refuses another chain, and mainnet', async () => {
  const { node } = await startTestLitecoind();
  const settings = {
    NODE_PORT: String(node.rpcPort),
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    REGTEST_MINER_API_HOST: '127.0.0.1',
    REGTEST_MINER_API_PORT: String(await freePort())
  };
  const mismatch = await runCommandLine(['miner', '--no-guardian'], { ...settings, NETWORK: 'bitcoin-regtest' });
  assert.match(mismatch.stderr, /first block is that of another chain/);
  assert.equal(mismatch.code, 78);
  const mainnet = await runCommandLine(['miner', '--no-guardian'], { ...settings, NETWORK: 'litecoin-mainnet' });
  assert.match(mainnet.stderr, /the miner serves regtest and testnet only/);
  assert.equal(mainnet.code, 78);
});

test('its usual port', async () => {
  const settings = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-test' };
  const { code, stdout } = await runCommandLine(['miner', '--check-config'], settings);
  assert.equal(code, 0);
  assert.match(stdout, /REGTEST_MINER_API_PORT\s+= 3005/);
});
