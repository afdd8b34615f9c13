import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validatorMethods } from '../../../src/hub/methods/validators.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import type { Cost } from '../../../src/service/ingress/work-budget.ts';
import type { RpcCaller } from '../../../src/service/rpc/method.ts';
import { StreamedResult } from '../../../src/service/rpc/streamed-result.ts';
import { openRpc } from '../../support/frame.ts';

/** Returns a caller that is charged for rows. */
const callerOf = (charged: number[]) =>
  ({ charge: ({ rows = 0 }: Cost) => void charged.push(rows) }) as unknown as RpcCaller;

/** A hub's methods over so many active validators; of each page that is read, its first key and its rows. */
function hubOf(count: number) {
  const pages: number[] = [];
  const rowOf = (n: number) => ({ signing_pubkey: n.toString(16).padStart(64, '0'), addr: `v${n}.example:1` });
  const readOnce = async (name: string, after: string, most: number) => {
    assert.equal(name, 'pageOfValidators');
    const from = after === '' ? 0 : Number.parseInt(after, 16) + 1;
    const page = Array.from({ length: Math.max(0, Math.min(most, count - from)) }, (_, at) => rowOf(from + at));
    pages.push(page.length);
    return page;
  };
  const settings = { pushNeedsKey: false, isTrusted: () => true, minimumStakes: {} } as never;
  const methods = validatorMethods({ readOnce } as unknown as HubDatabase, settings);
  return { pages, methods, rowOf };
}

test('getvalidators: a list as it is, and a long one 200 rows at a time, each read when those before are taken', async () => {
  const short = hubOf(3);
  assert.deepEqual(await short.methods['getvalidators']!.run({}, callerOf([])), [0, 1, 2].map(short.rowOf));
  const { pages, methods, rowOf } = hubOf(1_050);
  const charged: number[] = [];
  const result = await methods['getvalidators']!.run({}, callerOf(charged));
  assert.ok(result instanceof StreamedResult);
  assert.deepEqual(pages, [200], 'before anybody takes it');
  const pieces = result.pieces()[Symbol.asyncIterator]();
  for (let taken = 0; taken < 3; taken++) await pieces.next();
  assert.deepEqual(pages, [200, 200]);
  await pieces.return?.();
  assert.deepEqual(charged, pages);
  const app = openRpc({ methods: hubOf(1_050).methods });
  const payload = { jsonrpc: '2.0', id: 1, method: 'getvalidators' };
  const all = (await app.inject({ method: 'POST', url: '/', payload })).json();
  assert.deepEqual(
    all.result,
    Array.from({ length: 1_050 }, (_, n) => rowOf(n))
  );
});
