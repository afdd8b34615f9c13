import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, PAIR_KEY, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';
import { createLedger, type Ledger } from '../support/tables-in-use/ledger.ts';
import { multiply } from '../support/tables-in-use/multiply.ts';

/** Tables in which indexers in use change rows of older blocks. */
const CHANGED = ['stakes', 'orders', 'dispensers', 'bets'];
/** More than a source reads whole with each group, and more than it knows value by value at the start. */
const LARGE = 6_000;
const LARGER = 25_000;
/** Tables whose definitions are changed, and their rows. */
const ALTERED = { few: LARGE, more: LARGER };

let source: DatabaseCoordinates;
let writer: Connection;
let ledger: Ledger;
let pair: SyncPair;
let client: SyncProcess;

before(async () => {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  source = await createDatabase('binlog', server.root);
  writer = await connect(source);
  ledger = await createLedger(writer, {
    dbType: 'indexer',
    seed: 'binlog',
    size: { blocks: 2_000, rows: 20_000 },
    chain: 'litecoin'
  });
  for (const table of CHANGED) await multiply(writer, table, LARGE);
  await multiply(writer, 'credits', LARGER);
  await writer.query('CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(40) NOT NULL)');
  await writer.query(`INSERT INTO notes (text) SELECT CONCAT('note ', seq) FROM seq_1_to_${LARGER}`);
  await writer.query(
    'CREATE TABLE remarks (id INT PRIMARY KEY, note INT NULL, FOREIGN KEY (note) REFERENCES notes (id) ON DELETE CASCADE ON UPDATE CASCADE)'
  );
  await writer.query('INSERT INTO remarks SELECT id, id FROM notes WHERE id % 4 = 0');
  await writer.query('ANALYZE TABLE notes, remarks');
  pair = await startPair('indexer', source, { SYNC_BINLOG: 'required' });
  client = await pair.startClient();
  await equalAfter(async () => undefined);
});

after(() => writer.destroy());

/** Changes rows, writes the block that shows it, and waits until the replica is equal at that block; no other block follows. */
async function equalAfter(change: () => Promise<unknown>): Promise<void> {
  await change();
  const { height } = await ledger.writeBlock({ actions: 2 });
  const verdict = await pair.settle(client, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  const status = await pair.status(client);
  assert.equal(status['repairs'] ?? 0, 0, 'nothing was left for a repair');
}

/**
 * Waits until the replica says that it is complete at a block: then it has none of the values that its source does not have.
 *
 * @param others SQL for the number of them
 */
async function isCompleteWithout(others: string, height: number): Promise<void> {
  const reader = await connect(pair.replica);
  try {
    await eventually(`complete at ${height}`, async () => {
      const [found] = await rows(reader, `SELECT complete, height, ${others} AS others FROM sync_state`).catch(
        () => []
      );
      const isComplete = Number(found?.['complete']) === 1 && Number(found?.['height']) === height;
      if (isComplete) assert.equal(Number(found!['others']), 0, 'complete, with values that the source does not have');
      return isComplete;
    });
  } finally {
    reader.destroy();
  }
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
}

test('rows that a block adds to large tables come with the old rows that change beside them', async () => {
  await equalAfter(async () => {
    await writer.query('BEGIN');
    for (const table of CHANGED) {
      const [old] = await rows(writer, `SELECT MIN(action_index) AS a FROM ${table}`);
      await writer.query(`UPDATE ${table} SET status_id = status_id + 1 WHERE action_index = ?`, [old!['a']]);
    }
    await writer.query('COMMIT');
  });
});

test('every row of a large table may change in one block', () =>
  equalAfter(() => writer.query("UPDATE notes SET text = CONCAT(text, '!')")));

test('rows are deleted, replaced, truncated, and written in the statement format and by XA', async () => {
  await equalAfter(() => writer.query('DELETE FROM notes WHERE id % 7 = 3'));
  await equalAfter(() => writer.query("REPLACE INTO notes (id, text) VALUES (1, 'other'), (999999, 'far')"));
  await equalAfter(() => writer.query('UPDATE notes SET id = id + 2000000 WHERE id BETWEEN 100 AND 200'));
  await equalAfter(async () => {
    await writer.query("XA START 'one'");
    await writer.query("UPDATE notes SET text = 'by XA' WHERE id = 5000");
    await writer.query("XA END 'one'");
    await writer.query("XA PREPARE 'one'");
    const { height } = await ledger.writeBlock({ actions: 1 }).catch(() => ({ height: null }));
    assert.equal(height, null, 'the connection is busy with the prepared transaction');
    await writer.query("XA COMMIT 'one'");
  });
  await equalAfter(async () => {
    await writer.query("SET SESSION binlog_format = 'STATEMENT'");
    await writer.query("UPDATE notes SET text = 'by statement' WHERE id = 4000");
    await writer.query("SET SESSION binlog_format = 'ROW'");
  });
  await equalAfter(() => writer.query('DROP TABLE remarks'));
  await equalAfter(() => writer.query('TRUNCATE notes'));
});

test('a lookup row that commits long after ids above its own, and one whose text changes', async () => {
  const late = await connect(source);
  try {
    await late.query('BEGIN');
    const [made] = await late.query("INSERT INTO index_memos (memo) VALUES ('late')");
    const { insertId } = made as unknown as { insertId: number };
    await equalAfter(() =>
      writer.query("INSERT INTO index_memos (memo) SELECT CONCAT('memo of the binlog test ', seq) FROM seq_1_to_3000")
    );
    await equalAfter(() => late.query('COMMIT'));
    await equalAfter(() => writer.query("UPDATE index_memos SET memo = 'another' WHERE id = ?", [insertId]));
  } finally {
    late.destroy();
  }
});

test('a replica is complete only once it has all rows of a block that changed more than a message carries, without a next block', async () => {
  await writer.query('CREATE TABLE many (id INT PRIMARY KEY, n INT NOT NULL)');
  await writer.query('INSERT INTO many SELECT seq, 1 FROM seq_1_to_110000');
  for (const expected of [110_000, 220_000]) {
    const { height } = await ledger.writeBlock({ actions: 2 });
    let amendments = 0;
    await eventually(`complete at ${height}`, async () => {
      const [found] = await sql(
        pair.replica,
        `SELECT complete, height, amendments, (SELECT SUM(n) FROM many) AS n FROM sync_state`
      ).catch(() => []);
      if (!found || Number(found['height']) !== height) return false;
      amendments = Number(found['amendments']);
      if (Number(found['complete']) === 1) assert.equal(Number(found['n']), expected, 'complete, with all rows');
      return Number(found['complete']) === 1;
    });
    assert.ok(amendments > 0, 'more than one message was needed');
    // All but the first of the small parts are read while the replica writes those before them.
    if (expected > 110_000) assert.ok(amendments > 10, `${amendments} amendments`);
    const verdict = await pair.compare();
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    await writer.query('UPDATE many SET n = n + 1');
  }
  await equalAfter(() => writer.query('DROP TABLE many'));
});

test('values that are lost where a definition is changed and changed back come with the next block', async () => {
  for (const [table, size] of Object.entries(ALTERED)) {
    await writer.query(
      `CREATE TABLE ${table} (id INT PRIMARY KEY, n INT NULL, word VARCHAR(40) NULL) DEFAULT CHARSET = utf8mb4`
    );
    await writer.query(`INSERT INTO ${table} SELECT seq, seq, 'größer' FROM seq_1_to_${size}`);
  }
  await writer.query('CREATE TABLE index_marks (id INT AUTO_INCREMENT PRIMARY KEY, n INT NULL, word VARCHAR(40) NULL)');
  await writer.query("INSERT INTO index_marks SELECT seq, seq, 'größer' FROM seq_1_to_300");
  await equalAfter(async () => undefined);
  const [mode] = await rows(writer, 'SELECT @@sql_mode AS mode');
  await writer.query("SET SESSION sql_mode = ''"); // values are cut
  for (const [change, back] of [
    ['DROP COLUMN n', 'ADD COLUMN n INT NULL AFTER id'],
    ['CHANGE word w VARCHAR(4) NULL', 'CHANGE w word VARCHAR(40) NULL'],
    ['CONVERT TO CHARACTER SET ascii', 'CONVERT TO CHARACTER SET utf8mb4']
  ])
    await equalAfter(async () => {
      for (const table of [...Object.keys(ALTERED), 'index_marks'])
        for (const each of [change, back]) await writer.query(`ALTER TABLE ${table} ${each}`);
    });
  await writer.query('SET SESSION sql_mode = ?', [mode!['mode']]);
});

test('rows that change after another key divides their table come with the block', async () => {
  await writer.query('CREATE TABLE names (k VARCHAR(40) PRIMARY KEY, n INT NOT NULL, v INT)');
  await equalAfter(() => writer.query(`INSERT INTO names SELECT CONCAT('k', seq), seq, seq FROM seq_1_to_${LARGE}`));
  await equalAfter(() => writer.query('ALTER TABLE names ADD UNIQUE KEY by_n (n)'));
  await equalAfter(() => writer.query('UPDATE names SET v = -1 WHERE n = 4000'));
  await equalAfter(() => writer.query('DELETE FROM names WHERE n = 3000'));
  await equalAfter(() => writer.query('UPDATE names SET n = n + 100000 WHERE n = 2000'));
  await equalAfter(() => writer.query('DROP INDEX by_n ON names'));
  await equalAfter(() => writer.query('UPDATE names SET v = -2 WHERE n = 5000'));
  await equalAfter(() => writer.query('DROP TABLE names'));
});

test('after a reorg, only the changed rows of a large table without blocks come, whether the source took them back or not', async () => {
  await writer.query('CREATE TABLE held (id INT PRIMARY KEY, n INT NOT NULL)');
  await equalAfter(() => writer.query('INSERT INTO held SELECT seq, 1 FROM seq_1_to_25000'));
  await equalAfter(async () => undefined); // a reader at the block of the amendments may lack some
  await equalAfter(async () => {
    await writer.query('UPDATE held SET n = 2 WHERE id IN (10, 12000, 24000)');
    await writer.query('DELETE FROM held WHERE id = 20000');
  });
  const { height } = ledger;
  await ledger.undo(1);
  await writer.query('UPDATE held SET n = 1 WHERE id = 10');
  await writer.query('UPDATE held SET n = 3 WHERE id = 16000');
  await ledger.writeBlock({ actions: 2 });
  await equalAfter(() => writer.query('INSERT INTO held VALUES (60000, 1)'));
  const whole = async (more: string) => {
    const since = `/snapshot/indexer/litecoin/regtest/since/${height - 1}?older=${height}${more}`;
    const answer = await fetch(`${pair.server.url}${since}`, { headers: { authorization: `Bearer ${PAIR_KEY}` } });
    await answer.body?.cancel();
    return answer.headers.get('x-whole-tables')?.split(',').includes('held');
  };
  assert.deepEqual([await whole(''), await whole('&parts=1')], [true, false]);
  await equalAfter(() => writer.query('DROP TABLE held'));
});

test('a server that was away reads what changed meanwhile from the log', async () => {
  await pair.server.end('SIGKILL');
  const [old] = await rows(writer, 'SELECT MIN(action_index) AS a FROM credits');
  await writer.query('UPDATE credits SET amount = amount + 1 WHERE action_index = ?', [old!['a']]);
  await pair.restartServer();
  await equalAfter(() => writer.query("INSERT INTO notes (text) VALUES ('after the restart')"));
});

test('values that are lost so while the server is away: the replica is complete only when it has lost them, too', async () => {
  const changed = async () => {
    for (const table of Object.keys(ALTERED)) await writer.query(`UPDATE ${table} SET n = id`);
  };
  await equalAfter(changed);
  await pair.server.end('SIGKILL');
  for (const table of Object.keys(ALTERED)) {
    await writer.query(`ALTER TABLE ${table} DROP COLUMN n`);
    await writer.query(`ALTER TABLE ${table} ADD COLUMN n INT NULL AFTER id`);
  }
  const { height } = await ledger.writeBlock({ actions: 2 });
  await pair.restartServer();
  const left = Object.keys(ALTERED).map((table) => `(SELECT COUNT(n) FROM ${table})`);
  await isCompleteWithout(left.join(' + '), height);
});

test('values that a server gives to old rows of a large table with a new column are those of the source', async () => {
  await writer.query('ALTER TABLE more ADD COLUMN seen DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)');
  const [{ seen }] = (await rows(writer, 'SELECT CAST(MIN(seen) AS CHAR) AS seen FROM more')) as [{ seen: string }];
  const { height } = await ledger.writeBlock({ actions: 2 });
  await isCompleteWithout(`(SELECT COUNT(*) FROM more WHERE seen <> '${seen}')`, height);
  for (const table of [...Object.keys(ALTERED), 'index_marks']) await writer.query(`DROP TABLE ${table}`);
  const { height: after } = await ledger.writeBlock({ actions: 1 });
  assert.ok((await pair.settle(client, after)).equal);
});

test('BINLOG_UNUSABLE: without the right to read the log, a server that requires it names the reason', async () => {
  await writer.query("CREATE USER 'reader'@'%' IDENTIFIED BY 'reads'");
  await writer.query(`GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON \`${source.name}\`.* TO 'reader'@'%'`);
  await writer.query(`GRANT DROP ON \`replica_%\`.* TO 'reader'@'%'`);
  const account = { ...source, user: 'reader', pass: 'reads' };
  const required = await startPair('indexer', account, { SYNC_BINLOG: 'required' });
  await eventually('the reason is told', async () => {
    const { binlog, last_error: error } = (await required.status(required.server)) as Record<string, never>;
    return /BINLOG MONITOR/.test(binlog?.['reason'] ?? '') && /BINLOG MONITOR/.test(String(error));
  });
  const { height } = await ledger.writeBlock({ actions: 1 });
  await eventually('the group fails by that name', async () => /BINLOG_UNUSABLE/.test(required.server.log()));
  assert.equal((await required.server.get('/health')).status, 200, 'MariaDB is well');
  assert.notEqual((await required.status(required.server))['block_height'], height);
  await writer.query("GRANT BINLOG MONITOR, REPLICATION SLAVE ON *.* TO 'reader'@'%'");
  await eventually('it heals', async () => (await required.status(required.server))['block_height'] === height);
  await required.server.end();
});
