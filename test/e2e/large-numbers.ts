import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../src/db/connection.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

/** Numbers around every bound that a key may cross: of JavaScript, of signed and of unsigned columns. */
const EDGES = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n];
const UNSIGNED = around(0n, 2n ** 64n - 1n);
const SIGNED = around(-(2n ** 63n), 2n ** 63n - 1n);
/** More rows than a source reads whole with each group, on both sides of the largest exact number of JavaScript. */
const MANY = 6_000n;
const FIRST = 2n ** 53n - MANY / 2n;

function around(lowest: bigint, highest: bigint): bigint[] {
  const all = EDGES.flatMap((edge) => [edge, -edge]).flatMap((edge) => [
    edge - 3n,
    edge - 2n,
    edge - 1n,
    edge,
    edge + 1n,
    edge + 2n
  ]);
  return [...new Set(all)].filter((value) => value >= lowest && value <= highest).sort((a, b) => (a < b ? -1 : 1));
}

const KEYED: readonly { readonly name: string; readonly type: string; readonly ids: readonly bigint[] }[] = [
  { name: 'held', type: 'BIGINT UNSIGNED NOT NULL PRIMARY KEY', ids: UNSIGNED },
  { name: 'signed', type: 'BIGINT NOT NULL PRIMARY KEY', ids: SIGNED },
  { name: 'counted', type: 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY', ids: UNSIGNED.slice(0, -2) },
  { name: 'index_far', type: 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY', ids: UNSIGNED.slice(0, -2) },
  { name: 'index_near', type: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY', ids: SIGNED.slice(0, -2) },
  { name: 'many', type: 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY', ids: [] },
  { name: 'index_many', type: 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY', ids: [] }
];
const RELATED = UNSIGNED.filter((value) => value > 0n);

/**
 * Test of rows with such keys.
 *
 * @param isEachAlone whether each table changes in blocks of its own: five times as many
 */
export function largeNumbersTest(binlog: 'off' | 'required', isEachAlone: boolean): void {
  test(`keys beyond the exact numbers of JavaScript are equal after each block, a reorg and restarts (binary log: ${binlog})`, async () => {
    const mariadb = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
    const source = await createDatabase('large_numbers', mariadb.root);
    const writer = await connect(source);
    const run = (sql: string) => writer.query(sql);
    await run("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
    await run(
      'CREATE TABLE blocks (block_index BIGINT UNSIGNED PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
    );
    await run(
      'CREATE TABLE transactions (tx_index BIGINT UNSIGNED PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, KEY (block_index))'
    );
    await run('CREATE TABLE outputs (tx_index BIGINT UNSIGNED NOT NULL, note VARCHAR(40), KEY (tx_index))');
    await run(
      'CREATE TABLE notes (tx_index BIGINT UNSIGNED NOT NULL, note VARCHAR(40), id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, KEY (tx_index))'
    );
    await run("INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_20");
    for (const { name, type, ids } of KEYED) {
      await run(`CREATE TABLE ${name} (id ${type}, note VARCHAR(40) NOT NULL)`);
      if (ids.length > 0) await run(`INSERT INTO ${name} VALUES ${ids.map((id) => `(${id}, 'first')`).join(', ')}`);
      else await run(`INSERT INTO ${name} SELECT ${FIRST} + seq, CONCAT('first ', seq) FROM seq_0_to_${MANY - 1n}`);
    }
    await run(
      `INSERT INTO transactions VALUES ${RELATED.map((value, at) => `(${value}, ${1 + (at % 20)})`).join(', ')}`
    );
    await run(
      `INSERT INTO outputs SELECT tx_index, 'one' FROM transactions UNION ALL SELECT tx_index, 'two' FROM transactions`
    );
    await run(
      `INSERT INTO notes (id, tx_index, note) SELECT tx_index, tx_index, 'one' FROM transactions WHERE tx_index < ${2n ** 64n - 3n}`
    );

    const pair = await startPair('decoder', source, { SYNC_BINLOG: binlog });
    const clientEnv = { SYNC_STATE_DIR: temporaryDirectory('client-state') };
    let client = await pair.startClient(clientEnv);
    let height = 20;
    const equal = async (what: string) => {
      let last: Record<string, unknown> = {};
      await eventually(`complete after ${what}`, async () => {
        last = await pair.status(client);
        if (last['phase'] !== 'live' || last['block_height'] !== height || last['settling'] === true) return false;
        // At equal height the tip may still be the orphaned one.
        const sql = (name: string) =>
          `SELECT block_hash AS hash FROM \`${name}\`.blocks ORDER BY block_index DESC LIMIT 1`;
        const [sourceRows, replicaRows] = await Promise.all(
          [source, pair.replica].map(({ name }) => rows(writer, sql(name)))
        );
        return sourceRows![0]!['hash'] === replicaRows![0]!['hash'];
      }).catch(async (fault: Error) => {
        const server = JSON.stringify(await pair.status(pair.server));
        throw new Error(`${fault.message}: ${JSON.stringify(last)}\n${server}\n${pair.server.log().slice(-2_000)}`);
      });
      const verdict = await compareDatabases(source, pair.replica, { ids: true });
      assert.ok(verdict.equal, `after ${what}: ${JSON.stringify(differences(verdict))}\n${client.log().slice(-2500)}`);
      assert.equal((await pair.status(client))['repairs'], 0, `after ${what}: nothing was left for a repair`);
    };
    const block = async (what: string, ...statements: readonly string[]) => {
      height += 1;
      await run('BEGIN');
      for (const sql of statements) await run(sql);
      await run(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, LEFT('h${height} ${what}', 64))`);
      await run('COMMIT');
      await equal(what);
    };
    await equal('the bootstrap');
    const tables = KEYED.map(({ name, ids }) => {
      const many = [0n, 1n, MANY / 2n - 2n, MANY / 2n - 1n, MANY / 2n, MANY / 2n + 1n, MANY - 1n];
      const all = ids.length > 0 ? ids : many.map((at) => FIRST + at);
      return { name, all, isDealt: ids.length === 0 };
    });
    for (const some of isEachAlone ? tables.map((table) => [table]) : [tables]) {
      const names = some.map(({ name }) => name).join();
      for (const { name, all } of some) {
        if (binlog === 'off' && name.startsWith('index_')) continue; // nothing tells of a lookup row that changes in place
        for (const id of all.filter((_, at) => at % 3 === 0))
          await run(`UPDATE ${name} SET note = 'changed' WHERE id = ${id}`);
      }
      await block(`changes of ${names}`);
      const each = (statement: (name: string, last: bigint, before: bigint) => string) =>
        some.map(({ name, all }) => statement(name, all.at(-1)!, all.at(-2)!));
      await block(`a row of ${names} goes`, ...each((name, last) => `DELETE FROM ${name} WHERE id = ${last}`));
      await block('it comes again', ...each((name, last) => `INSERT INTO ${name} VALUES (${last}, 'again')`));
      const both = each((name, last, before) => `DELETE FROM ${name} WHERE id IN (${last}, ${before})`);
      await block('two rows go', ...both.filter((statement) => !statement.includes('index_near')));
    }
    const dealt = tables.filter(({ isDealt }) => isDealt);
    for (const some of isEachAlone ? dealt.map((table) => [table]) : [dealt]) {
      const add = (notes: string) => some.map(({ name }) => `INSERT INTO ${name} (note) VALUES ${notes}`);
      await block('new rows', ...add("('dealt'), ('dealt too'), ('and this')"));
      await block('more new rows', ...add("('dealt 2'), ('dealt too 2')"));
    }
    await block(
      'changes of outputs',
      `UPDATE outputs SET note = 'changed' WHERE tx_index IN (${2n ** 53n + 1n}, ${2n ** 63n}) AND note = 'one'`
    );
    await block('outputs go', `DELETE FROM outputs WHERE tx_index = ${2n ** 53n + 2n} AND note = 'two'`);
    await block(
      'changes of notes',
      `UPDATE notes SET note = 'changed' WHERE tx_index IN (${2n ** 53n + 1n}, ${2n ** 63n})`
    );
    const own = [2n ** 53n + 101n, 2n ** 63n + 100n, 2n ** 62n];
    await block(
      'transactions with far numbers',
      ...own.map((tx) => `INSERT INTO transactions VALUES (${tx}, ${height + 1})`),
      ...own.map((tx) => `INSERT INTO outputs VALUES (${tx}, 'own'), (${tx}, 'own'), (${tx}, 'other')`),
      ...own.map((tx) => `INSERT INTO notes (id, tx_index, note) VALUES (${tx}, ${tx}, 'own')`)
    );
    await run('BEGIN');
    await run(`DELETE FROM blocks WHERE block_index = ${height}`);
    for (const name of ['transactions', 'outputs', 'notes'])
      await run(`DELETE FROM ${name} WHERE tx_index IN (${own.join(', ')})`);
    await run(`DELETE FROM many ORDER BY id DESC LIMIT 2`);
    await run(`DELETE FROM index_many ORDER BY id DESC LIMIT 2`);
    await run('COMMIT');
    height -= 1;
    if (binlog === 'required') await run("UPDATE index_far SET note = 'beside the reorg' WHERE id = 0");
    await block(
      'a reorg',
      `INSERT INTO transactions VALUES (${own[0]}, ${height + 1})`,
      `INSERT INTO outputs VALUES (${own[0]}, 'new')`
    );
    await pair.server.end('SIGKILL');
    height += 1;
    await run(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'while away')`);
    await run(`INSERT INTO many (note) VALUES ('while away')`);
    await run(`INSERT INTO index_many (note) VALUES ('while away')`);
    await run(`UPDATE held SET note = 'while away' WHERE id > ${2n ** 62n}`);
    await pair.restartServer();
    await equal('a restart of the server');
    await client.end('SIGKILL');
    await run(`UPDATE held SET note = 'client away' WHERE id > ${2n ** 62n}`);
    await run(`INSERT INTO index_many (note) VALUES ('client away')`);
    height += 1;
    await run(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'client away')`);
    client = await pair.startClient(clientEnv);
    await equal('a restart of the client');
    writer.destroy();
  });
}
