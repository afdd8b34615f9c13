import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { readDispenser } from '../../../src/decoder/dispensers/action.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { createDatabase } from '../../support/mariadb.ts';

const { addresses } = chainNetwork('bitcoin', 'regtest');
const TIP = 200;
const KEPT = 126;

/** Blocks of ten minutes each, up to one. @param action  said in the first */
function chain(action: string): BlockRows[] {
  return Array.from({ length: TIP }, (_, index) => ({
    height: index + 1,
    time: (index + 1) * 600,
    hash: `hash ${index + 1}`,
    previousHash: `hash ${index}`,
    findings: [],
    transactions: (index === 0 ? [action] : []).map((data) => ({
      hash: 'first',
      source: 'owner',
      data,
      rawData: null,
      pubkey: null,
      outputs: [],
      dispensers: readDispenser(data, ['BTC', 'RBTC'], addresses)
    }))
  }));
}

async function rollBack(store: DecoderStore, blocks: number): Promise<number | undefined> {
  let tip = await store.readTip();
  for (let block = 0; block < blocks; block++) tip = await store.rollBackTip();
  return tip?.height;
}

test('DATABASE_UNUSABLE: a rollback ends where dispensers that were open are no longer kept, also after a restart', async () => {
  const database = await createDatabase('decoder_forgotten');
  const store = await openDecoderStore(database);
  for (const block of chain('DISPENSER|0|BTC|T|1|0|10|BTC||5|||||5000')) await store.writeBlocks([block]);
  assert.equal(await rollBack(store, KEPT), TIP - KEPT);
  const refused = { code: 'DATABASE_UNUSABLE', message: /block 74 cannot be rolled back.*drop the database/ };
  await assert.rejects(store.rollBackTip(), refused);
  await store.database.close();
  const again = await openDecoderStore(database);
  await assert.rejects(again.rollBackTip(), refused);
  assert.equal((await again.readTip())?.height, TIP - KEPT, 'nothing of it is undone');
  await again.database.close();
});

test('a chain without dispensers is rolled back as far as an operator allows', async () => {
  const store = await openDecoderStore(await createDatabase('decoder_without'));
  await store.writeBlocks(chain('SEND|0|T|1'));
  assert.equal(await rollBack(store, KEPT + 10), TIP - KEPT - 10);
  await store.database.close();
});
