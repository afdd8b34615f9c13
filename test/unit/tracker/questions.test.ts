import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { TrackerQuestions } from '../../../src/tracker/methods.ts';

const COIN = { txid: 'ab'.repeat(32), vout: 1, value: '5', height: 7 };

/** Questions to a thread that answers each with this page. */
function asking(page: object): TrackerQuestions {
  const deps = {
    network: chainNetwork('litecoin', 'regtest'),
    view: () => ({ report: null, crash: null }),
    findCoins: async () => new Uint8Array(Buffer.from(JSON.stringify(page)))
  } as unknown as ConstructorParameters<typeof TrackerQuestions>[0];
  return new TrackerQuestions(deps);
}

test('a bare list that is a part of the coins comes with the cursor of the next page', async () => {
  const list = JSON.stringify([COIN]);
  const nextCursor = 'cd'.repeat(36);
  assert.deepEqual(await asking({ utxos: [COIN], nextCursor, sync: {} }).coinList('script:51'), {
    list,
    next: nextCursor
  });
  assert.deepEqual(await asking({ utxos: [COIN], sync: {} }).coinList('script:51'), { list, next: null });
});
