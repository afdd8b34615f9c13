import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { openRecordingHub, type RecordingHub } from '../../support/hub/recording-hub.ts';
import { ALICE, blocksOf, startIndexer } from '../../support/indexer-service.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const PRICE = (value: string) => `PRICE|1|LTC|TOKA|USD|${value}`;

/** Returns a hub's prices, without the columns that count its own writes. */
async function pricesOf(hub: RecordingHub) {
  const { rows } = (await hub.page('oracle_prices')) as { rows: Record<string, unknown>[] };
  return rows.map(({ action_index, value, block_time, effective_at }) => ({
    action_index,
    value,
    block_time,
    delay: Number(effective_at) - Number(block_time)
  }));
}

test('two hubs, one of them away through two reorgs, end equal; the price that a reorg took away is gone from both', async () => {
  const decoderDatabase = await createDatabase('decoder');
  const decoder = await openDecoderStore(decoderDatabase);
  const hubs = [await openRecordingHub(), await openRecordingHub()] as const;
  const starts: {
    databases: { indexer: Awaited<ReturnType<typeof createDatabase>> };
    indexer: Awaited<ReturnType<typeof startIndexer>>;
  }[] = [];
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    for (const hub of hubs) {
      const databases = { decoder: decoderDatabase, indexer: await createDatabase('indexer') };
      const env = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port) };
      starts.push({ databases, indexer: await startIndexer(databases, env) });
    }
    const follow = async (height: number) => {
      for (const { indexer } of starts) await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === height);
    };
    const waiting = async (at: number) =>
      (await sql(starts[at]!.databases.indexer, 'SELECT push_type FROM pending_hub_pushes')).length;
    await follow(1);
    for (const at of [0, 1]) await eventually(`hub ${at} knows the tip`, async () => (await waiting(at)) === 0);

    hubs[1].isShut = true;
    await decoder.writeBlocks(blocksOf(2, 'a', [[PRICE('1.5')], []]));
    await follow(3);
    await eventually('the first hub has the price', async () => (await pricesOf(hubs[0])).length === 1);
    for (let undone = 0; undone < 2; undone++) await decoder.rollBackTip();
    // Another action comes first now: the price has another index, and another price is told before it.
    await decoder.writeBlocks(blocksOf(2, 'b', [[`SEND|0|TOKA|1|${ALICE}`, PRICE('2.5')], []], 'a'));
    await follow(3);
    await eventually('the first hub has the other price alone', async () => {
      const values = (await pricesOf(hubs[0])).map(({ value }) => value);
      return values.length === 1 && values[0] === '2.5';
    });
    for (let undone = 0; undone < 2; undone++) await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(2, 'c', [[], [PRICE('3.5')], [PRICE('4.5')]], 'a'));
    await follow(4);
    hubs[1].isShut = false;
    for (const at of [0, 1]) await eventually(`hub ${at} is told all`, async () => (await waiting(at)) === 0);
    const [first, second] = [await pricesOf(hubs[0]), await pricesOf(hubs[1])];
    assert.deepEqual(first, second);
    assert.deepEqual(
      first.map(({ value, delay }) => [value, delay]),
      [
        ['3.5', 0],
        ['4.5', 86_400]
      ],
      'the first price holds at once: those of before are gone'
    );
    for (const { indexer } of starts) {
      indexer.child.kill('SIGTERM');
      assert.equal(await indexer.exited, 0, indexer.output());
    }
  } finally {
    await decoder.database.close();
  }
});

test('an indexer that was built anew goes above what the hub remembers of it, so that a later reorg takes it back', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hub = await openRecordingHub();
  try {
    const [same, other] = [1, 2].map((action_index) => ({
      source_chain: 'LTC',
      source_address: ALICE,
      coin: 'LTC',
      tick: 'TOKA',
      fiat: 'USD',
      value: '9',
      block_time: 1_700_000_000,
      action_index: action_index + 1,
      push_generation: 57
    }));
    await hub.ask('pushoracleprice', same);
    await hub.ask('pushoracleprice', other);
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100'], [PRICE('1.5')], []]));
    const env = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port) };
    const indexer = await startIndexer(databases, env);
    await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === 3);
    await eventually('the hub has its price', async () =>
      (await pricesOf(hub)).some(({ action_index, value }) => action_index === 2 && value === '1.5')
    );
    for (let undone = 0; undone < 2; undone++) await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(2, 'b', [[], [], []], 'a'));
    await eventually('the hub has no price any more', async () => (await pricesOf(hub)).length === 0);
    indexer.child.kill('SIGTERM');
    assert.equal(await indexer.exited, 0, indexer.output());
  } finally {
    await decoder.database.close();
  }
});

test('a push that the hub does not take is told again later, and those behind it do not wait', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hub = await openRecordingHub();
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const indexer = await startIndexer(databases, { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port) });
    await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    const round = {
      source_chain: 'LTC',
      round: 1,
      timestamp: 1_700_000_000,
      btc_block_height: 1,
      sigs: [],
      block_index: 1,
      pairs: [{ pair: 'BTC/USD', price: '1' }],
      action_index: 1,
      push_generation: 0
    };
    await sql(
      databases.indexer,
      `INSERT INTO pending_hub_pushes (push_type, action_index, payload) VALUES ('pushpriceround', 1, '${JSON.stringify(round)}')`
    );
    await decoder.writeBlocks(blocksOf(2, 'a', [[PRICE('1.5')]]));
    await eventually('the price is told', async () => (await pricesOf(hub)).length === 1);
    const refused = async () =>
      await sql(databases.indexer, "SELECT attempts, last_error FROM pending_hub_pushes WHERE status = 'refused'");
    await eventually('the round is told again', async () => Number((await refused())[0]?.['attempts']) >= 2);
    assert.equal((await refused())[0]?.['last_error'], 'validator snapshot unavailable');
    const { pushFault } = await indexer.until(({ pushFault }) => pushFault != null);
    assert.match(String(pushFault), /hub refused 1 pushes.*pushpriceround: validator snapshot unavailable/);
    indexer.child.kill('SIGTERM');
    assert.equal(await indexer.exited, 0, indexer.output());
  } finally {
    await decoder.database.close();
  }
});
