import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { PlatformError } from '../../../src/errors.ts';
import { MinerWallet } from '../../../src/miner/wallet.ts';
import { atEnd } from '../../support/cleanup.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { NETWORK, startMiner, until } from '../../support/miner.ts';
import { nodeEnv, startProgram } from '../../support/service-process.ts';

test('a node that refuses blocks after a mock time far ahead: /status tells its own reason', async () => {
  const { miner, ask, audited, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  await ask('set_mock_time', { timestamp: 4_294_967_000 });
  assert.deepEqual(await audited(), [['set_mock_time', '4294967000', 'done']]);
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

test('it makes the payment that the first extension block of litecoin needs, and none where a block is refused for another reason', async () => {
  const { node, miner, ask, stop } = await startMiner({ hasExtensionBlock: true });
  await until('ready', () => miner.state.isReady);
  const { result } = await ask('generate_blocks', { count: 350 });
  assert.equal(result?.count, 350);
  assert.equal(await node.height(), 451);
  assert.equal(await node.rpc.call('getblockhash', [451]), result.hashes.at(-1));
  // Coins of the extension block have no position: only the wallet can spend them.
  const coins = (await node.rpc.call('listunspent', [1])) as { txid: string; vout?: string; amount: string }[];
  const plain = coins.filter(({ vout }) => vout !== undefined).sort((a, b) => Number(a.amount) - Number(b.amount));
  assert.ok(coins.length > plain.length);
  const locked = plain.map(({ txid, vout }) => ({ txid, vout: Number(vout) }));
  await node.rpc.call('lockunspent', [false, locked]);
  const none = await ask('fill_mempool', { tx_quantity: 3 });
  await node.rpc.call('lockunspent', [true]);
  assert.equal(none.error?.data.code, 'COINS_INSUFFICIENT');
  await ask('set_mock_time', { timestamp: 1_400_000_000 });
  const { error } = await ask('generate_blocks', { count: 1 });
  const { size } = (await node.rpc.call('getmempoolinfo')) as { size: number };
  await stop();
  assert.deepEqual([error.data.code, Number(size)], ['NODE_REFUSED', 0]);
});

test('an address that nobody can spend from is paid nothing', async () => {
  const { node, miner, ask, stop } = await startMiner();
  await until('ready', () => miner.state.isReady);
  const address = addressOf(payTo({ kind: 'taproot', bytes: Buffer.alloc(32, 0xff) }), NETWORK.addresses)!;
  const before = await node.height();
  for (const [method, params] of [
    ['send_funds', { address, amount: 1 }],
    ['generate_blocks', { address, count: 1 }]
  ] as const)
    assert.match(JSON.stringify((await ask(method, params)).error), /nobody could ever spend what it is paid/, method);
  assert.equal(await node.height(), before);
  await stop();
});

test('a payment counts as sent only where the node says that a block has it, or its mempool', async () => {
  const outcomeWhere = async (rpcCode: number | undefined) => {
    const call = async (method: string) => {
      if (method === 'sendtoaddress') return 'ab'.repeat(32);
      const code = method === 'getmempoolentry' ? -5 : rpcCode;
      throw new PlatformError('NODE_REFUSED', { reason: 'of the node', rpcCode: code });
    };
    const wallet = new MinerWallet({ call, batch: async () => [] }, NETWORK);
    return await wallet.pay('somebody', 1n).catch(({ code }: PlatformError) => code);
  };
  assert.equal(await outcomeWhere(-5), 'ab'.repeat(32));
  for (const other of [-18, -32_603, undefined]) assert.equal(await outcomeWhere(other), 'NODE_REFUSED');
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
