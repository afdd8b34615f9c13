import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryChain, serveChannels } from '../../support/channels.ts';

const pairs = (count: number) => ({
  channels: ['market'],
  params: { pairs: Array.from({ length: count }, (_, n) => [`T${n}`, 'TOKA']) }
});

test('a client that owes for its reads keeps no block from others, and gets what it follows as it stands then', async (t) => {
  const chain = new MemoryChain(9);
  const { budget, follow } = await serveChannels(t, chain);
  const honest = await follow('honest', { channels: ['blocks', 'network'] });
  const stranger = await follow('stranger', { channels: ['network', 'blocks'] });
  const crowd = await follow('stranger', pairs(24));
  budget.charge('stranger', { bytes: 104_000_000 });
  for (let height = 10; height <= 12; height++) {
    chain.add(`h${height}`);
    for (const { until } of [honest, stranger])
      await until('NEW_BLOCK', ({ data }) => data['block_index'] === String(height), 1_500);
    await honest.until('NETWORK_STATS', ({ data }) => data['block_height'] === String(height), 1_500);
  }
  assert.ok(!crowd.frames.some(({ type }) => type === 'MARKET_UPDATE'), 'it owes still');
  await stranger.until('NETWORK_STATS', ({ data }) => data['block_height'] === '12', 20_000);
  await sleep(200);
  const told = stranger.frames.filter(({ type }) => type === 'NETWORK_STATS');
  assert.ok(told.length <= 2, `${told.length} for three blocks: a state is told as it stands`);
});

test('what a reorg takes away is told: states anew, and REORG to followers of blocks and actions', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  const payee = await follow('payee', { channels: ['address', 'token'], params: { address: 'A', tick: 'TOKA' } });
  const quiet = await follow('quiet', {
    channels: ['actions'],
    params: { types: ['ORDER_EXPIRED'], fields: ['status'] }
  });
  const watcher = await follow('watcher', { channels: ['blocks', 'actions'] });
  const balancesAre = (wanted: readonly object[]) =>
    payee.until('ADDRESS_UPDATE', ({ data }) => JSON.stringify(data['balances']) === JSON.stringify(wanted));
  chain.balances = [{ tick: 'TOKA', amount: '100' }];
  chain.add('paid', 1);
  await balancesAre(chain.balances);
  payee.frames.length = 0;
  chain.balances = [];
  chain.rollBack(9);
  await balancesAre([]);
  assert.equal((await payee.until('TOKEN_UPDATE')).data['last_action_index'], '0');
  for (const { until, frames } of [watcher, quiet]) {
    assert.deepEqual((await until('REORG')).data, { block_index: '9' });
    assert.equal(frames.filter(({ type }) => type === 'REORG').length, 1);
  }
  chain.add('rival', 1);
  await watcher.until('NEW_ACTION', ({ data }) => data['source'] === 'rival');
});

test('a client that knows an action of a block that is gone is sent the actions of the blocks in its place', async (t) => {
  const chain = new MemoryChain(9);
  const { follow } = await serveChannels(t, chain);
  chain.add('paid', 5, 6);
  const first = await follow('client', { channels: ['actions'] });
  first.socket.terminate();
  await sleep(100);
  chain.rollBack(9);
  chain.add('rival', 5, 6, 7);
  const catchUp = async (since: number) => {
    const again = await follow('client', { channels: ['actions'], params: { since_action_index: since } });
    await again.until('CATCH_UP_COMPLETE');
    again.socket.terminate();
    return again.frames
      .filter(({ catch_up }) => catch_up)
      .map(({ type, data }) => `${type} ${data['action_index'] ?? data['block_index']}`);
  };
  assert.deepEqual(await catchUp(6), ['REORG 9', 'NEW_ACTION 5', 'NEW_ACTION 6', 'NEW_ACTION 7']);
  assert.deepEqual(await catchUp(7), [], 'nobody knew action 7 of the block that is gone');
});
