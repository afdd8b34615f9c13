import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { Coin } from '../../../src/explorer/coins.ts';
import { FairReads } from '../../../src/explorer/fair-reads.ts';
import { readState } from '../../../src/explorer/live/channel-states.ts';
import type { Question } from '../../../src/explorer/question.ts';
import { pageRoutes } from '../../../src/explorer/routes/pages.ts';
import { createAddressReader } from '../../../src/service/callers/address.ts';
import { createAuthenticator } from '../../../src/service/callers/auth.ts';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';

function pagesOf(read: (question: Question) => Promise<object>) {
  const coin = { network: chainNetwork('litecoin', 'regtest'), read, report: () => ({ height: 7 }) } as unknown as Coin;
  const reads = new FairReads({
    addressOf: createAddressReader(),
    authenticator: createAuthenticator({}),
    budget: new WorkBudget()
  });
  const app = fastify();
  pageRoutes(app, { coins: () => [coin], limit: { take: async () => undefined } as never, reads });
  return app;
}

test('a page has the answers of one block: where a reorg comes between them, it is made anew', async () => {
  let branch = 'first';
  const answers = (method: string) =>
    ({
      network: { totals: { blocks: branch } },
      blocks: { data: [{ block_index: '7', timestamp: '1', ledger_hash: branch }] },
      history: { data: [{ action_index: '9', action: branch, source: 'A', block_index: '7', timestamp: '1' }] }
    })[method] ?? { data: [] };
  const asked: string[] = [];
  const read = async ({ method }: Question) => {
    asked.push(method);
    const reply = { body: JSON.stringify(answers(method)), next: null, mark: branch };
    if (asked.length === 2) branch = 'rival';
    return reply;
  };
  const { body, statusCode } = await pagesOf(read).inject('/');
  assert.equal(statusCode, 200, body);
  assert.ok(body.includes('rival'));
  assert.ok(!body.includes('first'), 'no answer of the branch that is gone');
  assert.equal(asked.length, 14);
});

test('a token of more holders than can be put in order has a page, and an address of more tokens its state', async () => {
  const read = async ({ method, height }: Question) => {
    if (['holders', 'balances'].includes(method) && height === undefined)
      throw new PlatformError('REQUEST_INVALID', { reason: 'there are more than 200000 rows to put in order' });
    const rows = { holders: [{ address: 'A', amount: '5' }], balances: [{ tick: 'TOKA', amount: String(height) }] };
    const data = rows[method as keyof typeof rows] ?? [];
    const token = { info: { tick: 'TOKA' }, supply: {}, locks: {} };
    return { body: JSON.stringify(method === 'token' ? token : { data }), next: null, mark: 'a', height: 7 };
  };
  const { body, statusCode } = await pagesOf(read).inject('/token/TOKA');
  assert.equal(statusCode, 200, body);
  assert.match(body, /Holders \(the first 25\)/);
  assert.match(body, /href="\/address\/A"/);
  const coin = { report: () => ({ height: 7 }) } as unknown as Coin;
  const state = await readState(coin, read as never, { channel: 'address', about: { address: 'A' } });
  assert.deepEqual(Object(state)['balances'], [{ tick: 'TOKA', amount: '7' }]);
});
