import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import type { Coin } from '../../../src/explorer/coins.ts';
import { FairReads } from '../../../src/explorer/fair-reads.ts';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';

test('who owes for what it has read waits before it reads more, also where it asks by messages of one connection', async () => {
  const budget = new WorkBudget();
  const reads = new FairReads({ addressOf: ({ headers }) => String(headers['address']), budget });
  const coin = {} as Coin;
  const msUntilRead = async (address: string) => {
    const began = performance.now();
    const raw = { headers: { address }, socket: { destroyed: false } };
    await reads.take(coin, { raw } as unknown as FastifyRequest, async () => null);
    return performance.now() - began;
  };
  budget.charge('a', { ms: 10_400 }); // what an address may take at once, and 0.4 s more
  const [greedy, other] = await Promise.all([msUntilRead('a'), msUntilRead('b')]);
  assert.ok(greedy > 300 && other < 200, `${greedy} ms, ${other} ms`);
});
