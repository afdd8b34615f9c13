import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { Coin } from '../../../src/explorer/coins.ts';
import { FairReads } from '../../../src/explorer/fair-reads.ts';
import type { Question } from '../../../src/explorer/question.ts';
import { pageRoutes } from '../../../src/explorer/routes/pages.ts';
import { createAddressReader } from '../../../src/service/address.ts';
import { createAuthenticator } from '../../../src/service/auth.ts';
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
      actions: { data: [{ action_index: '9', action: branch, source: 'A', block_index: '7', timestamp: '1' }] }
    })[method];
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
  assert.equal(asked.length, 6);
});
