import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../src/db/connection.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

/*
 * By which column a table is divided, named and found follows from its keys. So each combination of keys gets a table, and each kind
 * of change goes to all of them: a replica that calls a block complete has every row of it.
 */

/** Rows of a table: more than a source looks at one by one. */
const ROWS = 1_600;
const FIRST_KEYS = [
  '',
  'PRIMARY KEY (a)',
  'PRIMARY KEY (s)',
  'PRIMARY KEY (i)',
  'PRIMARY KEY (a, b)',
  'PRIMARY KEY (s, a)',
  'UNIQUE KEY (q)'
];
const FURTHER_KEYS = ['', 'UNIQUE KEY (b)', 'UNIQUE KEY (q, b)', 'UNIQUE KEY (s)', 'UNIQUE KEY (g)'];
const VALUES = `seq, seq + 10, CONCAT('s', seq), seq + 20, 18446744073709000000 + seq, 1`;
const INTO = 'INSERT INTO @ (a, b, s, q, g, v) SELECT';

/** Changes of a block in each table, `@`. Those that a key refuses are left out. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  'a deletion': ['DELETE FROM @ WHERE a = 100'],
  'a change of a value': ['UPDATE @ SET v = -1 WHERE a = 1400'],
  'changes of what keys are of': [
    'UPDATE @ SET a = a + 100000 WHERE a = 201',
    'UPDATE @ SET b = b + 100000 WHERE a = 202',
    "UPDATE @ SET s = CONCAT(s, 'x') WHERE a = 203",
    'UPDATE @ SET q = q + 100000 WHERE a = 204',
    'UPDATE @ SET q = NULL WHERE a = 205',
    'UPDATE @ SET g = g - 100000 WHERE a = 206'
  ],
  'keys that change places': [
    "UPDATE @ SET s = 'away', b = -1 WHERE a = 300",
    "UPDATE @ SET s = 's300', b = 310 WHERE a = 301",
    "UPDATE @ SET s = 's301', b = 311 WHERE a = 300"
  ],
  'a row in the place of several': [
    "REPLACE INTO @ (a, b, s, q, g, v) VALUES (400, 411, 's402', 423, 18446744073709000404, 5)"
  ],
  'rows that come back': ['DELETE FROM @ WHERE a BETWEEN 500 AND 510', `${INTO} ${VALUES} FROM seq_505_to_510`],
  'a further key': [
    'ALTER TABLE @ ADD UNIQUE KEY further (a, v, b)',
    'UPDATE @ SET v = 9 WHERE a = 600',
    'DELETE FROM @ WHERE a = 601'
  ],
  'another key': ['ALTER TABLE @ DROP KEY further, ADD UNIQUE KEY further (b)', 'UPDATE @ SET v = 9 WHERE a = 700'],
  'changes after it': [
    'UPDATE @ SET v = 10 WHERE a = 701',
    'DELETE FROM @ WHERE a = 702',
    'UPDATE @ SET b = -7 WHERE a = 703'
  ],
  'changes of many': ['UPDATE @ SET v = v + 1 WHERE a % 3 = 0', 'DELETE FROM @ WHERE a % 10 = 1'],
  'an emptied table': ['TRUNCATE TABLE @', `${INTO} ${VALUES} FROM seq_1_to_3`]
};

/** Returns the definition of each table, by name: all combinations of keys, and every other one with an id of its own. */
function definitions(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [at, first] of FIRST_KEYS.entries())
    for (const [place, further] of FURTHER_KEYS.entries()) {
      const hasId = first.includes('(i)') || (at + place) % 2 === 1;
      const keys = [first, further, hasId && !first.includes('(i)') ? 'KEY (i)' : '', 'KEY (v)'].filter(Boolean);
      const columns = `${hasId ? 'i INT NOT NULL AUTO_INCREMENT, ' : ''}a INT NOT NULL, b INT NOT NULL, s VARCHAR(20) NOT NULL,
        q INT NULL, g BIGINT UNSIGNED NOT NULL, v INT`;
      found.set(`shape_${at}_${place}`, `CREATE TABLE shape_${at}_${place} (${columns}, ${keys.join(', ')})`);
    }
  return found;
}

const DUPLICATE_KEY = 1062;

for (const binlog of ['off', 'required'] as const)
  test(`a complete block has every row of it, whatever the keys of the tables: binary log ${binlog}`, async () => {
    const server = binlog === 'off' ? undefined : await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
    const source = await createDatabase('key_shapes', server?.root);
    const writer = await connect(source);
    const tables = definitions();
    await writer.query(
      'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
    );
    await writer.query("INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_100");
    for (const [name, definition] of tables) {
      await writer.query(definition);
      await writer.query(`${INTO} ${VALUES} FROM seq_1_to_${ROWS}`.replace('@', name));
    }
    const pair = await startPair('decoder', source, { SYNC_BINLOG: binlog });
    const client = await pair.startClient();
    assert.deepEqual(differences(await pair.settle(client, 100)), []);
    const replica = await connect(pair.replica);
    let height = 100;
    for (const [what, statements] of Object.entries(CHANGES)) {
      for (const name of tables.keys())
        for (const statement of statements)
          await writer.query(statement.replaceAll('@', name)).catch((caught: unknown) => {
            if (Object(caught).errno !== DUPLICATE_KEY) throw caught;
          });
      height += 1;
      await writer.query('INSERT INTO blocks (block_index, block_hash) VALUES (?, ?)', [height, `h${height}`]);
      await eventually(`block ${height} is complete: ${what}`, PATIENCE_MS, async () => {
        const [state] = await rows(replica, 'SELECT complete, height FROM sync_state');
        return Number(state?.['complete']) === 1 && Number(state?.['height']) === height;
      });
      assert.deepEqual(differences(await pair.compare()), [], what);
    }
    await Promise.all([writer.end(), replica.end()]);
  });
