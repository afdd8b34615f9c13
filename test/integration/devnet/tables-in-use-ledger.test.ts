import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import { TABLES_IN_USE } from '../../../src/indexer/definitions/definition.ts';
import { compareDatabases } from '../../../src/verify/compare.ts';
import { atEnd } from '../../support/cleanup.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { differences } from '../../support/sync/sync-pair.ts';
import { DECODER_LATE_KINDS } from '../../support/tables-in-use/decoder-late-changes.ts';
import { LATE_KINDS } from '../../support/tables-in-use/late-changes.ts';
import { createLedger, type Ledger, type LedgerOptions } from '../../support/tables-in-use/ledger.ts';

async function openNew(options: LedgerOptions): Promise<{ connection: Connection; ledger: Ledger; name: string }> {
  const database = await createDatabase('ledger');
  const connection = await connect(database);
  atEnd(async () => connection.destroy());
  return { connection, ledger: await createLedger(connection, options), name: database.name };
}

/** Balances, supplies and references as the ledger's own rows give them. */
async function checkSums(connection: Connection): Promise<void> {
  const moved = (table: string, sign: string) =>
    `SELECT address_id, tick_id, ${sign}CAST(amount AS DECIMAL(60,18)) AS amount FROM ${table}`;
  const wrongBalances = await rows(
    connection,
    `SELECT address_id, tick_id, SUM(amount) AS rest FROM (${moved('credits', '')} UNION ALL ${moved('debits', '-')} UNION ALL ${moved('balances', '-')}) m
     GROUP BY 1, 2 HAVING rest <> 0`
  );
  assert.deepEqual(wrongBalances, []);
  const wrongSupplies = await rows(
    connection,
    `SELECT tick_id, SUM(amount) AS rest FROM (${moved('credits', '')} UNION ALL ${moved('debits', '-')} UNION ALL ${moved('escrows', '')}
       UNION ALL SELECT 0, tick_id, -CAST(supply AS DECIMAL(60,18)) FROM tokens) m GROUP BY 1 HAVING rest <> 0 AND tick_id IN (SELECT tick_id FROM tokens)`
  );
  assert.deepEqual(wrongSupplies, []);
  assert.deepEqual(
    await rows(connection, "SELECT * FROM balances WHERE amount IN ('0', '') OR amount LIKE '%.%0'"),
    []
  );
}

test('an indexer: sums agree after blocks, late changes and reorgs', async () => {
  const { connection, ledger } = await openNew({ dbType: 'indexer', seed: 'sums' });
  await ledger.writeBlocks(60, { late: 'random' });
  await checkSums(connection);
  for (const depth of [1, 3, 12]) {
    await ledger.reorg(depth, { late: 'random', together: depth === 3 });
    await ledger.writeNodeRows();
    await checkSums(connection);
  }
  await ledger.writeBlocks(30, { late: 'random' }, true);
  await checkSums(connection);
  const heights = await rows(
    connection,
    'SELECT COUNT(*) AS n, COUNT(DISTINCT block_index) AS d, MAX(block_index) AS top FROM blocks'
  );
  assert.deepEqual(heights.map(Object.values), [[93, 93, 192]]);
  assert.equal(ledger.height, 192);
});

test('an indexer: every table gets rows', async () => {
  const { connection, ledger } = await openNew({ dbType: 'indexer', seed: 'rows' });
  await ledger.writeBlocks(5, { actions: 'each' });
  for (const kind of LATE_KINDS)
    if (!kind.endsWith('Refund')) await ledger.writeBlock({ actions: 0, late: [{ kind, depth: 1 }] });
  await ledger.writeNodeRows();
  await ledger.reorg(2);
  const empty: string[] = [];
  for (const name of TABLES_IN_USE.indexer.keys())
    if ((await rows(connection, `SELECT 1 FROM ${name} LIMIT 1`)).length === 0) empty.push(name);
  assert.deepEqual(empty, ['merkle_epochs', 'sync_meta']); // a sync service's own
});

test('a decoder: chain, dense transactions and gaps in ids, after reorgs', async () => {
  const { connection, ledger } = await openNew({ dbType: 'decoder', seed: 'chain' });
  await ledger.writeBlocks(150);
  await ledger.reorg(5);
  await ledger.writeBlocks(20, {}, true);
  await ledger.writeNodeRows();
  const [found] = await rows(
    connection,
    `SELECT (SELECT COUNT(*) FROM blocks b LEFT JOIN blocks p ON p.block_index = b.block_index - 1 WHERE b.block_index > 100 AND NOT (p.block_hash_id <=> b.previous_block_hash_id)) AS breaks,
       (SELECT MAX(tx_index) - COUNT(*) FROM transactions) AS gaps, (SELECT COUNT(*) FROM transactions WHERE amount IS NOT NULL OR fee <> 0 OR block_index IS NULL) AS odd,
       (SELECT COUNT(*) FROM events WHERE code = 'REORG') AS reorgs, (SELECT MAX(id) > COUNT(*) FROM index_addresses) AS idGaps,
       (SELECT COUNT(*) FROM pubkeys a JOIN pubkeys b ON b.id > a.id AND b.address_id < a.address_id) > 0 AS unordered,
       (SELECT COUNT(*) FROM dispensers WHERE expired_block_index IS NOT NULL) > 0 AS expired`
  );
  assert.deepEqual(found, { breaks: 0, gaps: 0, odd: 0, reorgs: 5, idGaps: 1, unordered: 1, expired: 1 });
  assert.equal(ledger.height, 270);
});

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`the same seed writes the same ${dbType}, another seed another`, async () => {
    const names = ['a', 'a', 'b'];
    const made = await Promise.all(
      names.map(async (seed) => {
        const database = await createDatabase('seed');
        const connection = await connect(database);
        const ledger = await createLedger(connection, { dbType, seed });
        await ledger.writeBlocks(15, { late: 'random' });
        await ledger.reorg(3, { late: 'random' });
        await connection.end();
        return database;
      })
    );
    const [first, second, third] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    const same = await compareDatabases(first, second);
    assert.deepEqual(differences(same), []);
    assert.equal((await compareDatabases(first, third)).equal, false);
  });
}

test('definitions of before mid-2026: equal rows where a unique key is missing, MyISAM', async () => {
  const { connection, ledger, name } = await openNew({ dbType: 'indexer', seed: 'old', age: 'old', myisam: true });
  await ledger.writeBlocks(80, { actions: 10, late: 'random' });
  await ledger.reorg(2);
  await checkSums(connection);
  const twice = await rows(connection, 'SELECT action_index FROM broadcasts GROUP BY action_index HAVING COUNT(*) > 1');
  assert.ok(twice.length > 0);
  const engines = await rows<{ e: string; n: number }>(
    connection,
    `SELECT ENGINE AS e, COUNT(*) AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${name}' GROUP BY 1 ORDER BY 2`
  );
  assert.deepEqual(
    engines.map(({ e }) => e),
    ['InnoDB', 'MyISAM']
  );
});

test('history of an indexer: sums agree, and late changes of each kind are as deep as asked', async () => {
  const { connection, ledger } = await openNew({ dbType: 'indexer', seed: 'deep', size: 'small' });
  await checkSums(connection);
  assert.ok(ledger.height > 12_000);
  const wrong: string[] = [];
  for (const kind of LATE_KINDS) {
    const depth = kind === 'contractRefund' ? 9_000 : 10_080;
    const { height, changes } = await ledger.writeBlock({ actions: 3, late: [{ kind, depth }] });
    const [change] = changes.filter((made) => made.kind === kind);
    const block = change?.block ?? 0;
    if (block > height - depth) wrong.push(`${kind}: ${height - block} blocks deep`);
    const deeper = height - block - depth;
    if (block > 0 && kind.endsWith('Refund') && deeper !== 0) wrong.push(`${kind}: ${deeper} blocks too deep`);
  }
  assert.deepEqual(wrong, []);
  await checkSums(connection);
  await ledger.reorg(LATE_KINDS.length, { count: 3 });
  await checkSums(connection);
});

test('history of a decoder goes on as it began', async () => {
  const { connection, ledger } = await openNew({ dbType: 'decoder', seed: 'deep', size: 'small' });
  for (const kind of DECODER_LATE_KINDS) {
    const { height, changes } = await ledger.writeBlock({ late: [{ kind, depth: 2_500 }] });
    assert.equal(changes.length, 1);
    assert.ok(changes[0]!.block === null || changes[0]!.block <= height - 2_500);
  }
  await ledger.writeBlocks(20, { late: 'random' });
  await ledger.reorg(3);
  const [found] = await rows(
    connection,
    `SELECT (SELECT COUNT(*) FROM blocks b JOIN blocks p ON p.block_index = b.block_index - 1 WHERE p.block_hash_id <> b.previous_block_hash_id) AS breaks,
       (SELECT MAX(tx_index) - COUNT(*) FROM transactions) AS gaps, (SELECT COUNT(*) FROM transaction_outputs o LEFT JOIN index_addresses a ON a.id = o.destination_id WHERE a.id IS NULL) AS lost`
  );
  assert.deepEqual(found, { breaks: 0, gaps: 0, lost: 0 });
});
