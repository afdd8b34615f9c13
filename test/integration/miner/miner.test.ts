import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommandLine } from '../../support/command-line.ts';
import { NETWORK, startMiner, until } from '../../support/miner.ts';

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

  assert.match(await (await fetch(url)).text(), /Send me coins/);
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

test('its usual port', async () => {
  const settings = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-test' };
  const { code, stdout } = await runCommandLine(['miner', '--check-config'], settings);
  assert.equal(code, 0);
  assert.match(stdout, /REGTEST_MINER_API_PORT\s+= 3005/);
});
