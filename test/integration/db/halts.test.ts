import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect, rows } from '../../../src/db/connection.ts';
import { Halts } from '../../../src/db/halts.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { openTrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

async function openHalts(t: TestContext) {
  const connection = await connect(await createDatabase());
  t.after(() => connection.end());
  await connection.query(
    'CREATE TABLE events (id INT PRIMARY KEY AUTO_INCREMENT, time DATETIME, code TEXT, data TEXT)'
  );
  const halts = new Halts({ query: (sql, values) => rows(connection, sql, values), time: 'UTC_TIMESTAMP()' });
  const note = (code: string, data: string) =>
    connection.query('INSERT INTO events (time, code, data) VALUES (NOW(), ?, ?)', [code, data]);
  return { halts, note };
}

test('a halt stands until an operator, a reorg or the writer ends it; a clearing allows the rollback of that tip alone', async (t) => {
  const { halts } = await openHalts(t);
  const halt = { code: 'ROLLBACK_TOO_DEEP', reason: 'a reorg too deep', block_index: 700 };
  assert.equal(await halts.read(), null);
  await halts.write(halt);
  assert.deepEqual(await halts.read(), halt);
  assert.equal(await halts.isRollbackAllowed(700), false);
  assert.deepEqual(await halts.clear(), halt);
  assert.equal(await halts.read(), null);
  assert.deepEqual([await halts.isRollbackAllowed(700), await halts.isRollbackAllowed(699)], [true, false]);
  await halts.note('REORG', [{ block_index: 600 }]);
  assert.equal(await halts.isRollbackAllowed(700), false);
  await halts.write(halt);
  await halts.end();
  assert.deepEqual([await halts.read(), await halts.isRollbackAllowed(700), await halts.clear()], [null, false, null]);
});

test('a clearing of another halt allows no rollback', async (t) => {
  const { halts } = await openHalts(t);
  await halts.write({ code: 'LEDGER_INSANE', reason: 'a supply is wrong', block_index: 700 });
  await halts.clear();
  assert.equal(await halts.isRollbackAllowed(700), false);
});

test('halts of earlier releases stand: those of decoder and tracker without a code, those of indexers without a height', async (t) => {
  const { halts, note } = await openHalts(t);
  await note('HALT', '[{"reason":"too deep","block_index":700}]');
  assert.deepEqual(await halts.read(), { code: 'ROLLBACK_TOO_DEEP', reason: 'too deep', block_index: 700 });
  await note('HALT_CLEARED', '[{"block_index":700}]');
  assert.deepEqual([await halts.isRollbackAllowed(700), await halts.isRollbackAllowed(699)], [true, false]);
  await note('HALT', '{"code":"LEDGER_INSANE","reason":"a supply is wrong"}');
  assert.deepEqual(await halts.read(), { code: 'LEDGER_INSANE', reason: 'a supply is wrong', block_index: null });
  await note('HALT_CLEARED', '{"code":"LEDGER_INSANE"}');
  assert.equal(await halts.isRollbackAllowed(700), false);
  await note('HALT_CLEARED', '{"code":"ROLLBACK_TOO_DEEP"}');
  assert.equal(await halts.isRollbackAllowed(700), true);
});

/** Opens the database of each writer, as its start does. */
const WRITERS: Readonly<
  Record<string, (to: DatabaseCoordinates) => Promise<{ readonly halts: Halts; close(): Promise<void> | void }>>
> = {
  decoder: async (to) => (await openDecoderStore(to)).database,
  tracker: async (to) => (await openTrackerStore(to, { undoDepth: 126, nodeHeight: () => null })).database,
  indexer: (to) => IndexerStore.open(to, TEST_RULES, 30)
};

/** Halts as earlier releases of each writer wrote them. */
const EARLIER: Readonly<Record<string, string>> = {
  decoder: '[{"reason":"too deep","block_index":700}]',
  tracker: '[{"reason":"too deep","block_index":700}]',
  indexer: '{"code":"LEDGER_INSANE","reason":"too deep"}'
};

for (const [writer, open] of Object.entries(WRITERS)) {
  test(`a database that an earlier ${writer} left halted is opened with its halt, which an operator clears`, async () => {
    const database = await createDatabase();
    await (await open(database)).close();
    await sql(database, `INSERT INTO events (time, code, data) VALUES (20260101, 'HALT', '${EARLIER[writer]}')`);
    const opened = await open(database);
    assert.equal((await opened.halts.read())?.reason, 'too deep');
    await opened.halts.clear();
    assert.equal(await opened.halts.read(), null);
    await opened.close();
  });
}
