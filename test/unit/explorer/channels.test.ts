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
