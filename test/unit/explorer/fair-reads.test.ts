import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FastifyRequest, fastify } from 'fastify';
import type { Coin } from '../../../src/explorer/coins.ts';
import { FairReads } from '../../../src/explorer/fair-reads.ts';
import type { Question } from '../../../src/explorer/question.ts';
import { otherRoutes } from '../../../src/explorer/routes/others.ts';
import { createAddressReader } from '../../../src/service/callers/address.ts';
import { createAuthenticator } from '../../../src/service/callers/auth.ts';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';

test('a caller in debt for its reads waits before it reads more, also when it asks by messages of one connection', async () => {
  const budget = new WorkBudget();
  const reads = new FairReads({
    addressOf: ({ headers }) => String(headers['address']),
    authenticator: createAuthenticator({}),
    budget
  });
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

test('the balances of several addresses are asked for at once, which is at one block', async () => {
  const asked: Question[] = [];
  const read = async (question: Question) => {
    asked.push(question);
    return { body: '{"data":[1,2]}', height: 7 };
  };
  const coin = { network: { code: 'LTC' }, read } as unknown as Coin;
  const authenticator = createAuthenticator({});
  const reads = new FairReads({ addressOf: createAddressReader(), authenticator, budget: new WorkBudget() });
  const app = fastify();
  otherRoutes(app, { coins: () => [coin], reads });
  const answer = await app.inject({ method: 'POST', url: '/LTC/api/balances', payload: { addresses: ['A', 'B'] } });
  assert.deepEqual([answer.json(), answer.headers['x-block-height']], [{ data: [1, 2] }, '7']);
  assert.deepEqual(
    asked.map(({ method, queries }) => [method, queries]),
    [['balances', ['A', 'B']]]
  );
});
