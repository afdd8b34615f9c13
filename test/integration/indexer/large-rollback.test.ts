import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows, type Statements } from '../../../src/db/connection.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { rollBack } from '../../../src/indexer/store/rollback.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { dumpTexts } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';

const RULES = { ...TEST_RULES, readAddress: (text: string) => (/^[A-Z]\d*$/.test(text) ? text : undefined) };
/** Recipients of one AIRDROP, more than one statement deletes. */
const MANY = 21_000;
const MOST_DELETED = 20_000;

const block = (height: number, ...texts: readonly string[]): ChainBlock => ({
  height,
  time: 1_700_000_000 + height,
  hash: String(height).padStart(64, 'a'),
  transactions: texts.map((data, at) => ({ hash: `${height}f${at}`.padStart(64, 'd'), source: 'A', fee: 10, data }))
});

/** Returns all rows but texts that were looked up, which keep their ids. */
async function kept(database: DatabaseCoordinates) {
  const all = Object.entries(await dumpTexts(database));
  return all.filter(([table]) => !table.startsWith('index_') || table === 'index_addresses');
}

test('a rollback of large blocks deletes in parts, and leaves what was there before them', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, RULES, 60);
  const list = Array.from({ length: MANY }, (_, at) => `H${at}`).join('|');
  await store.addBlocks([block(1, 'ISSUE|0|TOKA|0|0|0||1000000'), block(2, `LIST|0|2||${list}`)]);
  const before = await kept(database);
  await store.addBlocks([block(3, 'AIRDROP|0|TOKA|1|2'), block(4, 'SEND|0|TOKA|5|B'), block(5, 'AIRDROP|0|TOKA|2|2')]);
  const connection = await connect(database, { several: true });
  const deleted: number[] = [];
  const watched = {
    query: async (...given: Parameters<Connection['query']>) => {
      const answer = await connection.query(...given);
      const { affectedRows } = Object(answer[0]) as { affectedRows?: number };
      if (/^DELETE/.test(String(given[0]))) deleted.push(affectedRows!);
      return answer;
    }
  } as Statements;
  await connection.query('START TRANSACTION');
  await rollBack(watched, 3, RULES);
  await connection.query('COMMIT');
  await connection.end();
  store.close();
  assert.deepEqual(await kept(database), before);
  assert.equal(Math.max(...deleted), MOST_DELETED);
});

test('a rollback reads the ISSUEs of many tokens together, and of none more than once', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, RULES, 60);
  const batches = (text: (n: number) => string) =>
    [0, 1].map((part) => `BATCH|0|${Array.from({ length: 200 }, (_, n) => text(200 * part + n)).join(';')}`);
  await store.addBlocks([block(1, 'ISSUE|0|TOKA', ...batches((n) => `ISSUE|0|TOKA.${n}|${n + 1}|||x`))]);
  await store.addBlocks([block(2, ...batches((n) => `ISSUE|0|TOKA.${n}|${n + 2}||2`))]);
  await store.addBlocks([block(3, ...Array.from({ length: 10 }, () => batches(() => 'ISSUE|1|TOKA.7|y')).flat())]);
  const before = await kept(database);
  await store.addBlocks([block(4, ...batches((n) => `ISSUE|0|TOKA.${n}|9||3|z||B|||1`))]);
  const connection = await connect(database, { several: true });
  const given: string[] = [];
  const watched = {
    query: async (...statement: Parameters<Connection['query']>) => {
      given.push(JSON.stringify(statement[0]));
      return await connection.query(...statement);
    }
  } as Statements;
  await connection.query('START TRANSACTION');
  await rollBack(watched, 4, RULES);
  await connection.query('COMMIT');
  await connection.end();
  store.close();
  assert.deepEqual(await kept(database), before);
  const reads = given.filter((statement) => /\bFROM issues\b/.test(statement));
  assert.ok(reads.length > 0 && reads.length < 12, `${reads.length} statements`);
});

test('a rollback reads what it undoes, however much of the same kind stays', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, RULES, 60);
  const below = Array.from({ length: 40 }, () => ['ISSUE|1|TOKA|x', 'LINK|0|BTC|2|BTC|1']).flat();
  const connection = await connect(database, { several: true });
  const count = async () => {
    const found = await rows<{ Value: string }>(connection, `SHOW SESSION STATUS LIKE 'Handler\\_read\\_%'`);
    return found.reduce((sum, { Value }) => sum + Number(Value), 0);
  };
  await store.addBlocks([block(1, 'FILE|0|a.png'), block(2, 'ISSUE|0|TOKA|100'), block(3, 'ISSUE|0|TOKB|100')]);
  const read: number[] = [];
  for (let height = 4; height < 12; height += 1) {
    await store.addBlocks([block(height, ...below)]);
    const [{ order } = { order: 0 }] = await rows<{ order: number }>(
      connection,
      'SELECT MAX(action_index) + 1 AS `order` FROM actions'
    );
    await store.addBlocks([
      block(height + 1, 'ORDER|1|BTC|TOKB||1|BTC|BTC|1|0', `ORDER_CANCEL|0|${order}`, 'LINK|0|BTC|2|BTC|1')
    ]);
    await rows(connection, 'ANALYZE TABLE links, issues, orders, order_statuses, files, mappings_files, actions');
    const before = await count();
    await connection.query('START TRANSACTION');
    await rollBack(connection, height + 1, RULES);
    await connection.query('ROLLBACK');
    read.push((await count()) - before);
    await store.rollBack(height + 1);
  }
  assert.ok(read.at(-1)! <= read[0]! + 40, `rows read by one rollback, each with more below: ${read.join()}`);
  await connection.end();
  store.close();
});
