import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { testSigner } from '../support/indexer-signers.ts';
import { faultsOf, readFacts } from '../support/shape.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { startOverOthers } from './others.ts';
import { addRareBlocks } from './rare-blocks.ts';

type Row = Readonly<Record<string, unknown>>;
type Answer = Row & { readonly data?: readonly Row[] };
interface Facts {
  readonly paths: Readonly<Record<string, { readonly fields: string }>>;
}

/** An explorer, and a pair that traded there: two tokens, or a token and the chain's coin. */
interface Traded {
  readonly url: string;
  readonly one: string;
  readonly two: string;
  readonly address: string;
}

const { paths: PATHS } = readFacts<Facts>('explorer');
const signer = testSigner('rare');
const traded = {} as Record<'own tokens' | 'own coin' | 'others tokens' | 'others coin', Traded>;
let own: Awaited<ReturnType<typeof createExplored>>;

before(async () => {
  const others = await startOverOthers();
  const [one = '', two = ''] = others.subjects['token'] ?? [];
  const [address = ''] = others.subjects['address'] ?? [];
  traded['others tokens'] = { url: others.url, one, two, address };
  traded['others coin'] = { url: others.url, one, two: 'BTC', address };
  own = await createExplored();
  const { url } = await startExplorer(own, { EXPLORER_RATE_LIMIT_RPM: '1000000' });
  await addRareBlocks(own, signer);
  await eventually('the explorer has the blocks', async () => {
    const { data = [] } = await ask(url, '/capability_slash_events');
    return data.length > 0;
  });
  traded['own tokens'] = { url, one: 'MARK', two: 'OTHER', address: 'A' };
  traded['own coin'] = { url, one: 'MARK', two: 'BTC', address: 'A' };
});
after(() => own.store.close());

async function ask(url: string, path: string): Promise<Answer> {
  const response = await fetch(`${url}/RBTC/api${path}`);
  const body = (await response.json()) as Answer;
  assert.equal(response.status, 200, `${path} ${JSON.stringify(body)}`);
  return body;
}

for (const name of ['own tokens', 'own coin', 'others tokens', 'others coin'] as const)
  test(`a pair that traded has a row in each path of markets, seen from either side: ${name}`, async () => {
    const { url, one, two, address } = traded[name];
    for (const [tick1, tick2] of [
      [one, two],
      [two, one]
    ] as const) {
      const fieldsOf = (path: string) => PATHS[path]!.fields.replaceAll('any', 'any!');
      const pair = `/market/${encodeURIComponent(tick1)}/${encodeURIComponent(tick2)}`;
      const market = await ask(url, pair);
      assert.deepEqual(faultsOf(market, fieldsOf('/market/{TICK1}/{TICK2}')), [], JSON.stringify(market));
      assert.deepEqual([market['tick1'], market['tick2']], [tick1, tick2]);
      for (const path of ['history', 'history/{ADDRESS}', 'orders', 'orders/{ADDRESS}']) {
        const { data = [] } = await ask(url, `${pair}/${path.replace('{ADDRESS}', address)}`);
        assert.ok(data.length > 0, `${pair}/${path} has no row`);
        for (const row of data)
          assert.deepEqual(faultsOf(row, fieldsOf(`/market/{TICK1}/{TICK2}/${path}`)), [], JSON.stringify(row));
      }
      const [trade] = (await ask(url, `${pair}/history`)).data ?? [];
      const [open] = (await ask(url, `${pair}/orders/${address}`)).data ?? [];
      const isFirst = tick1 === one;
      const price = name === 'own coin' ? { first: '0.1', second: '10' } : { first: '2', second: '0.5' };
      assert.equal(trade?.['price'], isFirst ? price.first : price.second, JSON.stringify(trade));
      assert.deepEqual([open?.['type'], open?.['price']], isFirst ? ['sell', price.first] : ['buy', price.second]);
      const { bids, asks } = (await ask(url, `${pair}/orderbook`)) as unknown as Record<string, string[][]>;
      assert.ok(
        (isFirst ? asks : bids)!.some(([level]) => level === open?.['price']),
        JSON.stringify({ bids, asks })
      );
      const listed = (await ask(url, `/markets/${encodeURIComponent(tick1)}`)).data ?? [];
      const isPair = ({ tick1: a, tick2: b }: Row) => (a === one && b === two) || (a === two && b === one);
      assert.ok(listed.some(isPair), JSON.stringify(listed));
    }
  });

test('a price of 55 digits is told as it is, from either side', async () => {
  const { url } = traded['own tokens'];
  const priceOf = async (pair: string) => (await ask(url, `/market/${pair}/history`)).data?.[0]?.['price'];
  assert.deepEqual([await priceOf('TINY/HUGE'), await priceOf('HUGE/TINY')], [`1${'0'.repeat(54)}`, '0']);
});

test('a validator who is slashed stands in the list by block, capability, key and address', async () => {
  const { url } = traded['own tokens'];
  const { data: all = [] } = await ask(url, '/capability_slash_events');
  assert.equal(all.length, 1);
  const path = '/capability_slash_events/{QUERY}/{TYPE}';
  assert.deepEqual(faultsOf(all[0], PATHS[path]!.fields), [], JSON.stringify(all[0]));
  const { block_index: block } = all[0]!;
  for (const asked of [`${String(block)}/block`, 'price/capability', `${signer.pubkey}/pubkey`, 'C/address'])
    assert.deepEqual((await ask(url, `/capability_slash_events/${asked}`)).data, all, asked);
});
