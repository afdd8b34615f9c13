import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { actionsHash } from '../../../src/consensus/ledger-hashes.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import { classifyTables } from '../../../src/replication/tables/classify.ts';
import { readTopology } from '../../../src/replication/tables/topology.ts';
import { compareDatabases } from '../../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { appendBacklog, appendBlocks, createIndexer, reorg } from '../../support/devnet-ledger.ts';
import { LEDGER_TABLES } from '../../support/ledger/schema.ts';
import { LedgerWriter } from '../../support/ledger/writer.ts';
import { createDatabase } from '../../support/mariadb.ts';

async function read<T extends Record<string, unknown>>(from: DatabaseCoordinates, sql: string): Promise<T[]> {
  const connection = await connect(from);
  try {
    return await rows<T>(connection, sql);
  } finally {
    await connection.end();
  }
}

async function count(from: DatabaseCoordinates, sql: string): Promise<number> {
  const [row] = await read<{ n: number }>(from, `SELECT COUNT(*) AS n FROM ${sql}`);
  return row!.n;
}

let small: DatabaseCoordinates;
before(async () => {
  small = await createDatabase('ledger');
  await createIndexer(small, { seed: 'small', blocks: 60, rows: 8_000 });
});

test('a generated indexer of 100000 rows has rows in every table', async () => {
  const database = await createDatabase('ledger');
  await createIndexer(database, { seed: 'size', blocks: 400, rows: 100_000 });
  const counts = await read<{ name: string; n: number }>(
    database,
    Object.keys(LEDGER_TABLES)
      .map((name) => `SELECT '${name}' AS name, COUNT(*) AS n FROM ${name}`)
      .join(' UNION ALL ')
  );
  const total = counts.reduce((sum, { n }) => sum + n, 0);
  assert.ok(total > 90_000 && total < 130_000, `${total} rows`);
  assert.deepEqual(
    counts.filter(({ n }) => n === 0).map(({ name }) => name),
    []
  );
});

test('the same seed writes the same database, however its blocks are grouped and reopened', async () => {
  const [one, other] = [await createDatabase('ledger'), await createDatabase('ledger')];
  for (const database of [one, other]) await createIndexer(database, { seed: 'twice', blocks: 10, rows: 1_000 });
  await appendBlocks(one, 6, 'more');
  await appendBacklog(other, 4, 'more');
  await appendBlocks(other, 1, 'more');
  await appendBlocks(other, 1, 'more');
  const verdict = await compareDatabases(one, other);
  assert.deepEqual(
    verdict.tables.filter(({ equal }) => !equal),
    []
  );
  assert.deepEqual(verdict.heights, { source: 115, replica: 115 });
});

test('the ledger holds what makes replication hard', async () => {
  const facts: readonly [fact: string, sql: string][] = [
    [
      'equal rows in sends',
      '(SELECT 1 FROM sends GROUP BY action_index, tick_id, destination_id, amount HAVING COUNT(*) > 1) x'
    ],
    ['equal rows in list_items', '(SELECT 1 FROM list_items GROUP BY action_index, item HAVING COUNT(*) > 1) x'],
    [
      'rewards that an earlier block stamps',
      'validator_rewards r JOIN (SELECT id, LAG(block_index) OVER (ORDER BY id) AS before_it FROM validator_rewards) p USING (id) WHERE r.block_index < p.before_it'
    ],
    [
      'refunds under an older action',
      'credits c JOIN dispensers d USING (action_index) JOIN index_statuses s ON s.id = d.status_id WHERE s.status = "closed"'
    ],
    ['emissions without an action', 'contract_emissions WHERE action_index IS NULL'],
    ['addresses without a stamp', 'index_addresses WHERE block_index IS NULL'],
    ['stakes changed in place', 'stakes WHERE signing_pubkey_id IS NOT NULL'],
    ['attests changed in place', 'attests WHERE batch_action_index IS NOT NULL'],
    ['tokens changed in place', "tokens WHERE description LIKE 'described at%'"],
    ['invalid actions', 'sends JOIN index_statuses s ON s.id = status_id WHERE s.status LIKE "invalid%"'],
    ['numbers beyond 2^63', 'contract_executions WHERE gas > 9223372036854775807']
  ];
  for (const [fact, sql] of facts) assert.ok((await count(small, sql)) > 0, fact);
});

test('tables of every class of an indexer occur, with and without keys', async () => {
  const connection = await connect(small);
  const plans = classifyTables((await readTopology(connection)).tables, 'indexer');
  await connection.end();
  assert.deepEqual(
    new Set(plans.map((plan) => plan.class)),
    new Set(['derived', 'local', 'lookup', 'scoped', 'mutable'])
  );
  for (const kind of ['scoped', 'mutable'] as const) {
    const ofKind = plans.filter((plan) => plan.class === kind);
    assert.ok(
      ofKind.some(({ identity }) => identity === null) && ofKind.some(({ identity }) => identity !== null),
      kind
    );
    assert.ok(
      ofKind.some(({ surrogate }) => surrogate !== null) && ofKind.some(({ surrogate }) => surrogate === null),
      kind
    );
  }
});

test('supply = credits - debits = balances for every ticker', async () => {
  const total = (table: string) =>
    `COALESCE((SELECT SUM(CAST(amount AS DECIMAL(60,18))) FROM ${table} x WHERE x.tick_id = t.tick_id), 0)`;
  const off = await count(
    small,
    `tokens t WHERE supply <> ${total('credits')} - ${total('debits')} OR supply <> ${total('balances')}`
  );
  assert.equal(off, 0);
  assert.equal(await count(small, 'balances WHERE amount LIKE "-%"'), 0);
});

test('ids of addresses are dense, and the hash chain can be computed from the rows', async () => {
  const [ids] = await read(small, 'SELECT MAX(id) - COUNT(*) AS gap FROM index_addresses');
  assert.equal(ids!['gap'], 0);
  const chain = await read<{ height: number; hash: string }>(
    small,
    'SELECT block_index AS height, hash FROM blocks JOIN index_transactions t ON t.id = actions_hash_id ORDER BY block_index'
  );
  const actions = await read<{ block_index: number; action_index: number; tx_index: number; action: string }>(
    small,
    'SELECT block_index, action_index, tx_index, action FROM actions a JOIN index_actions i ON i.id = a.action_id'
  );
  let previousHash: string | undefined;
  for (const { height, hash } of chain) {
    const own = actions.filter(({ block_index }) => block_index === height);
    assert.equal(hash, actionsHash(own, { blockIndex: height, previousHash }), `block ${height}`);
    previousHash = hash;
  }
});

test('a rollback is not the inverse of the blocks: lookups, events, late rewards and refunds stay', async () => {
  const before = await createDatabase('before');
  const after = await createDatabase('after');
  for (const database of [before, after]) await createIndexer(database, { seed: 'fork', blocks: 40, rows: 4_000 });
  await appendBlocks(after, 12, 'gone');
  const writer = await LedgerWriter.open(after, 'gone');
  await writer.rollback(140);
  assert.equal(await writer.height(), 139);
  await writer.close();
  const verdict = await compareDatabases(before, after);
  const different = new Set(verdict.tables.filter(({ equal }) => !equal).map(({ table }) => table));
  for (const table of ['index_transactions', 'events', 'validator_rewards', 'tokens', 'stakes', 'credits'])
    assert.ok(different.has(table), `${table} is left different`);
  for (const table of ['blocks', 'transactions', 'actions', 'index_addresses', 'index_tickers', 'sends', 'debits'])
    assert.ok(!different.has(table), `${table} is as before`);
});

test('a reorg deals ids again and leads to another chain', async () => {
  const database = await createDatabase('reorg');
  await createIndexer(database, { seed: 'reorg', blocks: 30, rows: 3_000 });
  const tip =
    'SELECT hash FROM blocks JOIN index_transactions t ON t.id = ledger_hash_id ORDER BY block_index DESC LIMIT 1';
  const [oldTip] = await read(database, tip);
  const addresses = 'SELECT id, address FROM index_addresses WHERE block_index >= 125 ORDER BY id LIMIT 1';
  const [oldAddress] = await read(database, addresses);
  assert.equal(await reorg(database, 5, 5, 'other'), 129);
  assert.notDeepEqual(await read(database, tip), [oldTip]);
  const [address] = await read(database, addresses);
  assert.equal(address!['id'], oldAddress!['id']);
  assert.notEqual(address!['address'], oldAddress!['address']);
});

test('INTERNAL: a block that leaves a gap is refused, and the blocks before it in the transaction with it', async () => {
  const database = await createDatabase('gap');
  const writer = await LedgerWriter.open(database, 'gap');
  const block = (height: number) => ({ height, time: 1_700_000_000, hash: `h${height}`, transactions: [] });
  await assert.rejects(writer.writeBlocks([block(1), block(3)]), { code: 'INTERNAL' });
  assert.equal(await writer.height(), undefined);
  await writer.writeBlocks([block(1), block(2)]);
  assert.equal(await writer.height(), 2);
  assert.equal(await writer.blockHash(2), 'h2');
  await writer.close();
});

test('INTERNAL: a ledger whose sums disagree stops the writer before it commits', async () => {
  const database = await createDatabase('sanity');
  const writer = await LedgerWriter.open(database, 'sanity');
  const block = (height: number, data: string) => ({
    height,
    time: 1_700_000_000,
    hash: `h${height}`,
    transactions: [{ hash: `t${height}`, source: 'owner', fee: null, data }]
  });
  await writer.writeBlocks([block(1, 'ISSUE|0|GAS|1000|10|8|gas|500')]);
  await writer.writeBlocks([block(2, 'SEND|0|GAS|1.5|someone')]);
  assert.deepEqual(await read(database, 'SELECT amount FROM balances ORDER BY address_id'), [
    { amount: '498.5' },
    { amount: '1.5' }
  ]);
  await read(database, "UPDATE balances SET amount = '2' WHERE amount = '1.5'");
  await assert.rejects(writer.writeBlocks([block(3, 'SEND|0|GAS|0.00000001|another')]), /SANITY CHECK FAILED/);
  await writer.close();
  assert.equal(await count(database, 'blocks'), 2);
});
