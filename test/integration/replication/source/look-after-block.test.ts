import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { SerialConnection } from '../../../../src/db/serial-connection.ts';
import { silentLogger } from '../../../../src/log.ts';
import { SourceFeed } from '../../../../src/replication/source/feed/feed.ts';
import type { AmendmentMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

/** Blocks of a database: more than a group reads whole. */
const BLOCKS = 6_000;
/** More rows than are known one by one. */
const MANY_ROWS = 239_000;
/** Rows without a block: more than any amendment may carry. */
const UNBLOCKED = 9_000;
const MOST_RESTS = 2_000;

type Sent = { readonly type: string; readonly block_index: number; readonly unknown?: true };

/** A source of blocks and of one table that was started and has settled its last block. */
async function openSettled(t: TestContext, name: string, ...tables: string[]) {
  const database = await createDatabase(name);
  await sql(
    database,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(20) NOT NULL)',
    `INSERT INTO blocks SELECT seq, CONCAT('h', seq) FROM seq_1_to_${BLOCKS}`,
    ...tables
  );
  let reading: Connection | undefined;
  const open = () => connect(database, { finderKey: TEST_KEY, several: true });
  const reader = new SerialConnection(async () => {
    reading = await open();
    return reading;
  });
  const control = new SerialConnection(open);
  t.after(() => [reader, control].forEach((line) => void line.destroy()));
  const sent: Sent[] = [];
  const meddled: { whenSent: (() => Promise<void>) | null } = { whenSent: null };
  const feed = new SourceFeed({
    data: {
      id: { dbType: 'decoder', chain: 'litecoin', network: 'regtest' },
      coordinates: database,
      localTables: [],
      binlog: 'off',
      compatibleClients: false,
      settleBudgetMs: 5_000,
      resume: null
    },
    log: silentLogger,
    reader,
    control,
    open,
    beginGroup: () => undefined,
    record: async () => undefined,
    roots: null,
    retime: async () => undefined,
    prune: async () => undefined,
    keep: async () => undefined,
    broadcast: async (messages) => {
      for (const { bytes } of messages) sent.push(JSON.parse(new TextDecoder().decode(bytes)) as Sent);
      const { whenSent } = meddled;
      meddled.whenSent = null;
      await whenSent?.();
      return false;
    }
  });
  assert.equal(await feed.start(), true);
  const settle = async (height: number) => {
    for (let rests = 0; rests < MOST_RESTS && feed.settling.settledHeight !== height; rests++) await feed.rest();
    assert.equal(feed.settling.settledHeight, height);
  };
  await settle(BLOCKS);
  sent.length = 0;
  const loseReader = () => sql(database, `KILL ${(reading as unknown as { threadId: number }).threadId}`);
  return { database, feed, sent, meddled, settle, loseReader };
}

/** Returns the heights in parts of tables that amendments of a block brought. */
const amendedHeights = (sent: readonly Sent[], block: number) =>
  sent
    .filter(({ type, block_index }) => type === 'amendment' && block_index === block)
    .flatMap((message) => Object.values((message as unknown as AmendmentMessage).ranges ?? {}))
    .flatMap(({ rows }) => rows.map((row) => Number(row['block_index'])));

test('a look whose connection is lost before it begins sees nothing of the next block', async (t) => {
  const outputs = [
    'CREATE TABLE outputs (block_index INT NOT NULL, v INT NOT NULL, KEY (block_index))',
    `INSERT INTO outputs SELECT seq, 0 FROM seq_1_to_${BLOCKS}`
  ];
  const { database, feed, sent, meddled, settle, loseReader } = await openSettled(t, 'lost_look', ...outputs);
  const [first, second] = [BLOCKS + 1, BLOCKS + 2];
  await sql(
    database,
    `INSERT INTO outputs VALUES (${first}, 1)`,
    'UPDATE outputs SET v = 7 WHERE block_index = 11',
    `INSERT INTO blocks VALUES (${first}, 'h${first}')`
  );
  meddled.whenSent = async () => {
    await loseReader();
    await sql(
      database,
      `INSERT INTO outputs VALUES (${second}, 1)`,
      'UPDATE outputs SET v = 7 WHERE block_index = 12',
      `INSERT INTO blocks VALUES (${second}, 'h${second}')`
    );
  };
  await feed.broadcastGroup();
  for (let rests = 0; rests < 20; rests++) await feed.rest();
  assert.deepEqual(amendedHeights(sent, first), []);
  assert.equal(feed.settling.settledHeight, BLOCKS, 'no snapshot of the block is left');
  await feed.broadcastGroup();
  await settle(second);
  assert.deepEqual(amendedHeights(sent, second), [11, 12]);
});

test('after a reorg the block below the fork is not settled before it was looked at', async (t) => {
  const outputs = [
    'CREATE TABLE outputs (block_index INT NOT NULL, v INT NOT NULL, KEY (block_index))',
    `INSERT INTO outputs SELECT seq, 0 FROM seq_1_to_${BLOCKS}`
  ];
  const { database, feed, sent, settle } = await openSettled(t, 'reorg_look', ...outputs);
  const orphan = BLOCKS + 1;
  await sql(
    database,
    'UPDATE outputs SET v = 7 WHERE block_index = 12',
    `INSERT INTO outputs VALUES (${orphan}, 1)`,
    `INSERT INTO blocks VALUES (${orphan}, 'orphan')`
  );
  await feed.broadcastGroup();
  await settle(orphan);
  await sql(
    database,
    `DELETE FROM outputs WHERE block_index = ${orphan}`,
    `DELETE FROM blocks WHERE block_index = ${orphan}`
  );
  assert.equal(await feed.poll(), 'fork');
  await feed.broadcastReorg();
  assert.equal(feed.settling.settledHeight, BLOCKS - 1);
  await settle(BLOCKS);
  assert.deepEqual(amendedHeights(sent, BLOCKS), [12]);
});

test('a new row of an older block in a table that is known by ranges leaves nothing unknown', async (t) => {
  const rewards = [
    'CREATE TABLE rewards (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, v INT NOT NULL, KEY (block_index))',
    `INSERT INTO rewards (block_index, v) SELECT 1 + seq DIV 40, 0 FROM seq_1_to_${MANY_ROWS}`,
    'ANALYZE TABLE rewards'
  ];
  const { database, feed, sent, settle } = await openSettled(t, 'torn_range', ...rewards);
  const { learned } = feed;
  for (const height of [BLOCKS + 1, BLOCKS + 2]) {
    await sql(
      database,
      `INSERT INTO rewards (block_index, v) VALUES (${height - BLOCKS + 100}, 7)`,
      `INSERT INTO blocks VALUES (${height}, 'h${height}')`
    );
    await feed.broadcastGroup();
    await settle(height);
  }
  assert.deepEqual(
    sent.filter(({ type }) => type === 'settled').map(({ unknown }) => unknown),
    [undefined, undefined]
  );
  assert.deepEqual(feed.learned, learned);
});

test('rows without a block that are more than an amendment carries come whole, and so do those that are sent with them', async (t) => {
  const queue = [
    'CREATE TABLE queue (block_index INT NULL, v INT NOT NULL, KEY (block_index))',
    `INSERT INTO queue SELECT seq, 0 FROM seq_1_to_${BLOCKS}`,
    `INSERT INTO queue SELECT NULL, seq FROM seq_1_to_${UNBLOCKED}`
  ];
  const { database, feed, sent, settle } = await openSettled(t, 'many_nulls', ...queue);
  const orphan = BLOCKS + 1;
  await sql(
    database,
    `UPDATE queue SET v = 0 WHERE block_index IS NULL AND v = ${UNBLOCKED}`,
    'UPDATE queue SET v = 7 WHERE block_index = 5990',
    `INSERT INTO blocks VALUES (${orphan}, 'orphan')`
  );
  await feed.broadcastGroup();
  await settle(orphan);
  await sql(database, `DELETE FROM blocks WHERE block_index = ${orphan}`);
  await feed.broadcastReorg();
  sent.length = 0;
  await settle(BLOCKS);
  const parts = sent
    .filter(({ type }) => type === 'amendment')
    .flatMap((message) => (message as unknown as AmendmentMessage).ranges?.['queue'] ?? []);
  const rows = parts.flatMap((part) => part.rows.map((row) => row['block_index']));
  assert.equal(rows.filter((block) => block === null).length, UNBLOCKED);
  assert.deepEqual(
    rows.filter((block) => block !== null),
    [5990]
  );
  for (const { spans, rows: list } of parts)
    assert.ok(spans.includes(null) || list.every((row) => row['block_index'] !== null));
});
