import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/db/connection.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { enqueuePushes, MAX_WAITING } from '../../../src/indexer/pushes/queue.ts';
import { MOST_OF_SOURCE } from '../../../src/indexer/pushes/surplus.ts';
import { openRecordingHub } from '../../support/hub/recording-hub.ts';
import { ALICE, BOB, blocksOf, startIndexer } from '../../support/indexer-service.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

/** Returns an address's price of a token, as an indexer queues it. */
const priceOf = (actionIndex: number) =>
  ({
    method: 'pushoracleprice',
    actionIndex,
    params: {
      source_chain: 'LTC',
      source_address: BOB,
      coin: 'LTC',
      tick: 'TOKA',
      fiat: 'EUR',
      value: String(actionIndex),
      block_time: 1_700_000_000,
      action_index: actionIndex,
      push_generation: 0
    }
  }) as const;

test('kill -9 loses no push and repeats none out of order; a hub that is away stalls no block; a reorg takes back what waits', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const hub = await openRecordingHub();
  const decoder = await openDecoderStore(databases.decoder);
  const connection = await connect(databases.indexer);
  const start = () => startIndexer(databases, { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port) });
  const waiting = async () => (await sql(databases.indexer, 'SELECT push_type FROM pending_hub_pushes')).length;
  const pricesTold = () =>
    hub.calls.filter(({ method }) => method === 'pushoracleprice').map(({ params }) => Number(params['action_index']));
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const first = await start();
    const isTip = async () => ((await hub.ask('getchaintips')) as { block_height: number }[])[0]?.block_height === 1;
    await eventually('the tip is told, after the block below it', isTip);
    const [{ age_s: _, ...tip } = {}] = (await hub.ask('getchaintips')) as Record<string, unknown>[];
    const expected = { coin: 'LTC', network: 'regtest', block_height: 1, block_time: 1_700_000_001, trusted: true };
    assert.deepEqual(tip, expected);

    hub.delayMs = 20;
    const indexes = Array.from({ length: 60 }, (_, place) => 1_000 + place);
    await enqueuePushes(connection, indexes.map(priceOf));
    await eventually('some prices are told', async () => hub.calls.length > 20);
    first.child.kill('SIGKILL');
    await first.exited;
    const second = await start();
    await eventually('every push is told', async () => (await waiting()) === 0);
    hub.delayMs = 0;
    const prices = pricesTold();
    assert.deepEqual([...new Set(prices)], indexes, 'each is told, in order');
    assert.ok(prices.length <= indexes.length + 1, 'but the one under way, none is told twice');
    assert.deepEqual(
      prices,
      prices.toSorted((a, b) => a - b),
      'and that one at once'
    );

    hub.isShut = true;
    await decoder.writeBlocks(blocksOf(2, 'a', [[`PRICE|1|LTC|TOKA|USD|1.5`], [], []]));
    const health = await second.until(({ lastIndexedBlock, pushFault }) => lastIndexedBlock === 4 && pushFault != null);
    assert.match(String(health['pushFault']), /HUB_UNREACHABLE|127\.0\.0\.1/);
    assert.equal(health['status'], 'healthy');
    assert.equal(await waiting(), 2, 'the price, and the newest tip alone');
    for (let undone = 0; undone < 3; undone++) await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(2, 'b', [[], ['PRICE|1|LTC|TOKA|USD|2.5|0.1|mine'], [], []], 'a'));
    await second.until(({ lastIndexedBlock }) => lastIndexedBlock === 5);
    const before = hub.calls.length;
    hub.isShut = false;
    await eventually('what waited is told', async () => (await waiting()) === 0);
    const [retraction, price, ...rest] = hub.calls.slice(before);
    const [{ generation } = {}] = await sql(databases.indexer, 'SELECT generation FROM push_generations');
    assert.ok(Number(generation) >= 1);
    assert.deepEqual(retraction?.params, {
      source_chain: 'LTC',
      from_action_index: 2,
      retraction_generation: generation
    });
    assert.deepEqual(price?.params, {
      source_chain: 'LTC',
      action_index: 2,
      push_generation: generation,
      source_address: ALICE,
      coin: 'LTC',
      tick: 'TOKA',
      fiat: 'USD',
      value: '2.5',
      fee: '0.1',
      memo: 'mine',
      block_time: 1_700_000_003
    });
    assert.deepEqual(
      rest.map(({ params }) => params['block_height']),
      [5]
    );

    second.child.kill('SIGTERM');
    assert.equal(await second.exited, 0, second.output());
  } finally {
    await connection.end();
    await decoder.database.close();
  }
});

test('so many prices of one address wait at most: its oldest go, and no round of the validators', async () => {
  const database = await createDatabase('indexer');
  await sql(
    database,
    `CREATE TABLE pending_hub_pushes (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, push_type VARCHAR(32), action_index BIGINT, payload TEXT)`
  );
  const connection = await connect(database);
  const round = { method: 'pushpriceround', actionIndex: 1, params: { round: 1 } } as const;
  const indexes = Array.from({ length: MAX_WAITING }, (_, place) => place + 2);
  assert.equal(await enqueuePushes(connection, [round, ...indexes.map(priceOf)]), MAX_WAITING - MOST_OF_SOURCE);
  assert.equal(await enqueuePushes(connection, [priceOf(20_001), priceOf(20_002)]), 2);
  const kept = await sql(database, 'SELECT action_index AS n FROM pending_hub_pushes ORDER BY id');
  const numbers = kept.map(({ n }) => Number(n));
  assert.deepEqual([numbers.length, numbers[0], numbers[1], numbers.at(-1)], [1 + MOST_OF_SOURCE, 1, 9_004, 20_002]);
  await connection.end();
});
