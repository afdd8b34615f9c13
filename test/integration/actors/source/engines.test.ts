import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { SerialConnection } from '../../../../src/db/serial-connection.ts';
import { silentLogger } from '../../../../src/log.ts';
import { SourceFeed } from '../../../../src/replication/source/feed/feed.ts';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

/** A line on which something happens in the database while a read is under way. */
class MeddledLine extends SerialConnection {
  meddle: (() => Promise<unknown>) | null = null;

  override async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const { meddle } = this;
    this.meddle = null;
    return super.use(async (connection) => {
      const result = await work(connection);
      await meddle?.();
      return result;
    });
  }
}

/** A source of one block, with a table outside InnoDB, that was started. */
async function openMeddled(t: TestContext) {
  const database = await createDatabase('engines');
  await sql(
    database,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(9) NOT NULL) ENGINE=InnoDB',
    'CREATE TABLE old (block_index INT NOT NULL, v INT NOT NULL, body MEDIUMTEXT, KEY (block_index)) ENGINE=MyISAM',
    "INSERT INTO blocks VALUES (1, 'h1')"
  );
  const open = () => connect(database, { finderKey: TEST_KEY, several: true });
  const [reader, control] = [new MeddledLine(open), new SerialConnection(open)];
  t.after(() => [reader, control].forEach((line) => void line.destroy()));
  const sent: BlockMessage[][] = [];
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
      sent.push(messages.map(({ bytes }) => JSON.parse(new TextDecoder().decode(bytes)) as BlockMessage));
      return false;
    }
  });
  assert.equal(await feed.start(), true);
  return { database, reader, feed, sent };
}

test('inconsistent-engine: a group during whose read a table outside InnoDB moved is not broadcast, but read again', async (t) => {
  const { database, reader, feed, sent } = await openMeddled(t);
  await sql(database, "INSERT INTO blocks VALUES (2, 'h2')", 'INSERT INTO old VALUES (2, 1, NULL)');
  reader.meddle = () => sql(database, 'UPDATE old SET v = 9');
  await feed.broadcastGroup();
  assert.deepEqual(sent, []);
  await feed.broadcastGroup();
  assert.deepEqual(
    sent.flat().map(({ block_index, data }) => [block_index, data['old']]),
    [[2, [{ block_index: 2, v: 9, body: null }]]]
  );
});

test('inconsistent-engine: a backlog larger than a batch is held until it is read whole, so that no part of another state goes out', async (t) => {
  const { database, reader, feed, sent } = await openMeddled(t);
  await sql(
    database,
    "INSERT INTO blocks SELECT seq, CONCAT('h', seq) FROM seq_2_to_31",
    "INSERT INTO old SELECT seq, 1, REPEAT('x', 400000) FROM seq_2_to_31"
  );
  reader.meddle = () => sql(database, 'UPDATE old SET v = 9 WHERE block_index = 2');
  await feed.broadcastGroup();
  assert.deepEqual(sent, []);
  await feed.broadcastGroup();
  assert.equal(sent.length, 1, 'handed over at once');
  assert.deepEqual(
    sent.flat().map(({ data }) => data['old']?.[0]?.['v']),
    [9, ...Array.from({ length: 29 }, () => 1)]
  );
});
