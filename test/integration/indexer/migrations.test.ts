import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAIN_RULES } from '../../../lab/reference/chain.ts';
import { ReferenceRun } from '../../../lab/reference/run.ts';
import { hasCode } from '../../../src/errors.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

test('MIGRATION_CHANGED: rows of an earlier release are brought up to date once: types of mappings, members of lists, pushed rewards', async () => {
  const database = await createDatabase('indexer');
  const openAndClose = async () => (await IndexerStore.open(database, TEST_RULES, 30)).close();
  await openAndClose();
  await sql(
    database,
    'DELETE FROM schema_migrations',
    'INSERT INTO mappings_files (action_index, type_id, id) VALUES (1, 1, 7)',
    'INSERT INTO mappings_actions (action_index, type_id, id) VALUES (1, 1, 7), (1, 2, 9), (2, 1, 1), (2, 1, 10)',
    `INSERT INTO index_actions (id, action) VALUES (3, 'LIST')`,
    'INSERT INTO actions (action_index, block_index, action_id, action_format, source_id) VALUES (2, 1, 3, 0, 1)',
    `INSERT INTO recovery_pending_rewards (source_address, validator_pubkey, reward_type, round_reference, amount, block_index, applied)
     VALUES ('A', '${'c'.repeat(64)}', 'oracle', 1, '900', 1, 1)`,
    `INSERT INTO validator_rewards (source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount, block_index, derive_block_index)
     VALUES (1, 1, 'oracle', 1, 1, '900', 1, 1), (1, 1, 'oracle_round', 1, 0, '5', 1, 1)`
  );
  for (const _ of ['once', 'and not again']) await openAndClose();
  assert.deepEqual(
    (await sql(database, 'SELECT type_id, id FROM mappings_actions ORDER BY id')).map(({ type_id, id }) => [
      type_id,
      id
    ]),
    [
      [2, 1],
      [2, 7],
      [1, 9]
    ]
  );
  const rewards = await sql(database, 'SELECT amount FROM validator_rewards');
  assert.deepEqual(
    rewards.map(({ amount }) => amount),
    ['5'],
    'what the chain gave stays, what a caller gave goes'
  );
  assert.equal((await sql(database, 'SELECT 1 FROM recovery_pending_rewards')).length, 0);
  assert.equal((await sql(database, 'SELECT 1 FROM mappings_files')).length, 0, 'no LINK gives a file to a token');

  await sql(database, `UPDATE schema_migrations SET checksum = 'of other statements'`);
  await assert.rejects(openAndClose(), (caught) => hasCode(caught, 'MIGRATION_CHANGED'));
});

test('columns that decide facts are filled in for a ledger of an earlier release as blocks would have written them', async () => {
  const database = await createDatabase('indexer');
  const run = new ReferenceRun(5);
  while (run.chain.length < 300) run.extend();
  const store = await IndexerStore.open(database, CHAIN_RULES, 120);
  await addAllBlocks(store, run.chain);
  store.close();
  const read = async () => {
    const deciding = await sql(database, 'SELECT * FROM deciding_actions ORDER BY 1, 2, 3, 4');
    const rests = await sql(
      database,
      `SELECT r.trade, r.give_left, r.get_left FROM trade_rests r WHERE r.action_index =
         (SELECT MAX(n.action_index) FROM trade_rests n WHERE n.trade = r.trade) ORDER BY r.trade`
    );
    return { deciding: deciding.map((row) => JSON.stringify(row)), rests };
  };
  const written = await read();
  const kinds = new Set(written.deciding.map((row) => JSON.parse(row).kind));
  assert.ok(written.rests.length > 0 && kinds.size >= 5, `${written.rests.length} trades, kinds ${[...kinds].join()}`);
  await sql(database, `DELETE FROM schema_migrations WHERE name = '2026-11-27-deciding-actions'`);
  (await IndexerStore.open(database, CHAIN_RULES, 120)).close();
  const filled = await read();
  assert.deepEqual(filled.rests, written.rests);
  const further = filled.deciding.filter((row) => !written.deciding.includes(row));
  assert.deepEqual([...new Set(further.map((row) => JSON.parse(row).kind))], further.length > 0 ? [3] : []);
  assert.deepEqual(
    written.deciding.filter((row) => !filled.deciding.includes(row)),
    []
  );
});

test('edits of offers are filled in for a ledger of an earlier release as blocks would have written them', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 120);
  const blocks = [
    ['ISSUE|0|TOKA|0|0|1||1000', 'ISSUE|0|TOKB|0|0|0||5', 'LIST|0|2||A|B', 'ORDER|0|BTC|TOKA|5|0|BTC|TOKB|5'],
    ['SWAP|0|BTC|TOKA|5|0|BTC|TOKB|5', 'DISPENSER|0|BTC|TOKA|1||1|BTC||1', 'ORDER|2|4|99999999|3', 'ORDER|2|4||0|3'],
    ['ORDER|2|4', 'ORDER|2|4|5', 'SWAP|2|5|88888888', 'DISPENSER|2|6|2.5|99999999|3', 'DISPENSER|2|6|1||0|3'],
    ['DISPENSER|2|6||77777777', 'DISPENSER|2|6', 'DISPENSER|2|6|9999', 'ORDER|2|4|||0', 'DISPENSER|2|6|0']
  ].map((texts, at) => {
    const hash = (place: number) => `${at}a${place}`.padStart(64, '0');
    const transactions = texts.map((data, place) => ({ hash: hash(place + 1), source: 'A', fee: null, data }));
    return { height: at + 1, time: 600 * at, hash: hash(0), transactions };
  });
  await addAllBlocks(store, blocks);
  store.close();
  const read = async () =>
    (await sql(database, 'SELECT * FROM offer_edits ORDER BY 1, 2')).map((row) => Object.values(row).join(' '));
  const written = await read();
  assert.deepEqual(written, [
    '4 8 99999999 0 3 0 0.000000000000000000 ',
    '4 17   0 0 0.000000000000000000 ',
    '5 11 88888888   0 0.000000000000000000 ',
    '6 13 99999999 0 3 2 3.500000000000000000 13',
    '6 14 77777777   0 0.000000000000000000 '
  ]);
  await sql(database, `DELETE FROM schema_migrations WHERE name = '2026-11-29-offer-edits'`);
  (await IndexerStore.open(database, TEST_RULES, 120)).close();
  assert.deepEqual(await read(), written);
});
