import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FastifyRequest, fastify } from 'fastify';
import type { Coin } from '../../../src/explorer/coins.ts';
import { FairReads } from '../../../src/explorer/fair-reads.ts';
import { otherRoutes } from '../../../src/explorer/routes/others.ts';
import { createAddressReader } from '../../../src/service/address.ts';
import { createAuthenticator } from '../../../src/service/auth.ts';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';

test('a caller in debt for its reads waits before it reads more, also when it asks by messages of one connection', async () => {
  const budget = new WorkBudget();
  const reads = new FairReads({
    addressOf: ({ headers }) => String(headers['address']),
    ...{ authenticator: createAuthenticator({}), budget }
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

test('the balances of many addresses are read as they are taken: nobody has all of them in memory while it waits', async (t) => {
  const asked: string[] = [];
  const row = { tick: 'TOKA', text: 'x'.repeat(1_000_000) };
  const read = async ({ query }: { query?: string }) => {
    asked.push(query!);
    return { body: JSON.stringify({ data: [row] }) };
  };
  const coin = { network: { code: 'LTC' }, read } as unknown as Coin;
  const authenticator = createAuthenticator({});
  const reads = new FairReads({ addressOf: createAddressReader(), authenticator, budget: new WorkBudget() });
  const app = fastify({ forceCloseConnections: true });
  otherRoutes(app, { coins: () => [coin], reads });
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const addresses = Array.from({ length: 20 }, (_, n) => `A${n}`);
  const body = JSON.stringify({ addresses });
  const deaf = connect({ port, host: '127.0.0.1' }).pause();
  await once(deaf, 'connect');
  deaf.write(
    `POST /api/balances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
  await sleep(500);
  assert.ok(asked.length < 15, `${asked.length} of twenty were read for who takes none`);
  deaf.destroy();
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}/LTC/api/balances`, { method: 'POST', headers, body });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const { data } = (await answer.json()) as { data: { data: { text: string }[] }[] };
  assert.deepEqual([data.length, data[19]!.data[0]!.text.length], [20, 1_000_000]);
});
