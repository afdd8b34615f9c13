import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkDatabase } from '../../lab/reference/elsewhere/check.ts';
import { ledgerHash } from '../../src/consensus/ledger-hashes.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createExplored } from '../support/explorer-database.ts';
import { testSigner } from '../support/indexer-signers.ts';
import { sql } from '../support/sql.ts';
import { copyToOthers } from './made-elsewhere.ts';
import { addRareBlocks } from './rare-blocks.ts';

const PROGRAM = fileURLToPath(new URL('../../lab/reference/main.ts', import.meta.url));

let indexer: DatabaseCoordinates;
let decoder: DatabaseCoordinates;
before(async () => {
  const explored = await createExplored();
  await addRareBlocks(explored, testSigner('checked'));
  explored.store.close();
  indexer = await copyToOthers(explored.indexer, 'indexer');
  decoder = await copyToOthers(explored.decoder, 'decoder');
  await sql(decoder, `UPDATE pubkeys SET pubkey = '02${'ab'.repeat(32)}'`);
});

/** Returns each wrong row of a database as one text. */
async function faultsIn(database: DatabaseCoordinates): Promise<string[]> {
  const { checked } = await checkDatabase(database);
  return checked.flatMap(({ what, faults }) => faults.map((fault) => `${what}: ${fault}`));
}

/** Runs the command. @returns its lines and exit code */
function run({ host, port, user, pass, name }: DatabaseCoordinates): {
  readonly output: string;
  readonly code: number | null;
} {
  const url = `mysql://${user}:${encodeURIComponent(pass)}@${host}:${port}/${name}`;
  const { stdout, stderr, status } = spawnSync(process.execPath, [PROGRAM, '--database', url], { encoding: 'utf8' });
  return { output: stdout + stderr, code: status };
}

test('a ledger in tables in use is right in forms, references, counters, mappings, sums and hashes', async () => {
  assert.deepEqual(await faultsIn(indexer), []);
  const { output, code } = run(indexer);
  assert.equal(code, 0, output);
  const { checked, unchecked } = await checkDatabase(indexer);
  const rowsOf = (what: string) => checked.find((each) => each.what === what)?.rows;
  for (const what of [
    'mappings_actions has credits.address_id under type 2',
    'balances.amount is the sum of credits less that of debits',
    'hashes of each block are those of its rows'
  ])
    assert.ok(rowsOf(what)! > 10, `${what}: ${rowsOf(what)}`);
  assert.match(output, /not checked: state_hash_id: owners/);
  assert.match(
    output,
    new RegExp(`${checked.length} checks, 0 with faults, ${unchecked.length + 1} things not checked`)
  );
});

/** Faults to make, each with its repair and the expected report. */
const WRONG: Readonly<Record<string, readonly [wrong: string, right: string, report: RegExp]>> = {
  'types of mappings': [
    'UPDATE mappings_actions SET type_id = 3 - type_id',
    'UPDATE mappings_actions SET type_id = 3 - type_id',
    /mappings_actions has sends.tick_id under type 1: action_index \d+, tick_id \d+: it is there under type 2/
  ],
  'a mapping': [
    'UPDATE mappings_actions SET type_id = type_id + 100 LIMIT 1',
    'UPDATE mappings_actions SET type_id = type_id - 100 WHERE type_id > 100',
    /mappings_actions.type_id is 1 \(ticker\) or 2 \(address\): action_index \d+, type_id 10[12]/
  ],
  'a balance': [
    "UPDATE balances SET amount = CONCAT('9', amount) ORDER BY id LIMIT 1",
    'UPDATE balances SET amount = SUBSTR(amount, 2) ORDER BY id LIMIT 1',
    /balances.amount is the sum of credits less that of debits: address_id \d+, tick_id \d+, balance 9\S+, moved \d/
  ],
  'the form of a balance': [
    "UPDATE balances SET amount = CONCAT(amount, '.0') WHERE amount NOT LIKE '%.%' ORDER BY id LIMIT 1",
    "UPDATE balances SET amount = REPLACE(amount, '.0', '') WHERE amount LIKE '%.0'",
    /balances.amount is a positive decimal without zeros at its end: id \d+, amount \d+\.0/
  ],
  'a supply': [
    "UPDATE tokens SET supply = CONCAT('9', supply) ORDER BY tick_id LIMIT 1",
    'UPDATE tokens SET supply = SUBSTR(supply, 2) ORDER BY tick_id LIMIT 1',
    /tokens.supply is credits less debits, and escrows: tick_id \d+, supply 9\S+, moved \d/
  ],
  'the id of a ticker': [
    'UPDATE index_tickers SET id = id + 100000 ORDER BY id DESC LIMIT 1',
    'UPDATE index_tickers SET id = id - 100000 WHERE id > 100000',
    /index_tickers.id counts without gaps: before_it \d+, id 1000\d\d/
  ],
  'a reference': [
    'UPDATE sends SET destination_id = destination_id + 100000 ORDER BY action_index LIMIT 1',
    'UPDATE sends SET destination_id = destination_id - 100000 WHERE destination_id > 100000',
    /sends.destination_id is in index_addresses: destination_id 1000\d\d/
  ],
  'the unit of a time': [
    'UPDATE blocks SET block_time = block_time * 1000 WHERE block_index = 5',
    'UPDATE blocks SET block_time = block_time / 1000 WHERE block_index = 5',
    /blocks.block_time is seconds: block_index 5, block_time \d{13}/
  ],
  'the unit of payments': [
    'UPDATE coinpay_obligations SET coin_amount = coin_amount * 100000000',
    'UPDATE coinpay_obligations SET coin_amount = coin_amount / 100000000',
    /coinpays.coin_amount covers what coinpay_obligations.coin_amount says, in one unit: action_index \d+, coin_amount \S+, owed \d+/
  ],
  'what moved in a block': [
    "UPDATE credits SET amount = CONCAT(amount, '.0') WHERE amount NOT LIKE '%.%' LIMIT 1",
    "UPDATE credits SET amount = REPLACE(amount, '.0', '') WHERE amount LIKE '%.0'",
    /hashes of each block are those of its rows: block \d+: the ledger hash is [0-9a-f]{64}, of its rows [0-9a-f]{64}/
  ],
  'the kind of an action': [
    'UPDATE actions SET action_id = action_id + 1 WHERE action_index = 1',
    'UPDATE actions SET action_id = action_id - 1 WHERE action_index = 1',
    /hashes of each block are those of its rows: block \d+: the actions hash is/
  ]
};

for (const [subject, [wrong, right, report]] of Object.entries(WRONG))
  test(`index-check tells of what is wrong in ${subject}, and of nothing once it is right`, async () => {
    await sql(indexer, wrong);
    const faults = await faultsIn(indexer);
    await sql(indexer, right);
    assert.ok(
      faults.some((fault) => report.test(fault)),
      faults.join('\n')
    );
    assert.deepEqual(await faultsIn(indexer), []);
  });

test('stakes that come back are hashed with the block in which they do', async () => {
  const [tip] = await sql(
    indexer,
    `SELECT b.block_index AS height, b.block_time AS time, l.hash, b.actions_hash_id AS actions, b.contract_hash_id AS contract
     FROM blocks b JOIN index_transactions l ON l.id = b.ledger_hash_id ORDER BY 1 DESC LIMIT 1`
  );
  const [held] = await sql(
    indexer,
    `SELECT b.address_id, b.tick_id, a.address, i.tick FROM balances b JOIN index_addresses a ON a.id = b.address_id
     JOIN index_tickers i ON i.id = b.tick_id WHERE b.amount NOT LIKE '%.%' ORDER BY b.id LIMIT 1`
  );
  const height = Number(tip!['height']) + 1;
  const { address_id: address, tick_id: tick } = held!;
  const [unmoved] = await sql(
    indexer,
    'SELECT MIN(action_index) AS action FROM actions WHERE action_index NOT IN (SELECT action_index FROM credits)'
  );
  const action = Number(unmoved!['action']);
  const credit = { action_index: action, address: String(held!['address']), tick: String(held!['tick']), amount: '5' };
  const position = { blockIndex: height, previousHash: String(tip!['hash']) };
  const hash = ledgerHash({ credits: [credit], debits: [], escrows: [] }, position);
  await sql(
    indexer,
    `INSERT INTO index_transactions (hash) VALUES ('${hash}')`,
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id) VALUES (${height}, ${tip!['time']}, LAST_INSERT_ID())`,
    `INSERT INTO unstakes (action_index, source_id, signing_pubkey_id, cooldown_end_block, amount, block_index)
     SELECT ${action}, ${address}, MIN(id), ${height}, '5', 1 FROM index_pubkeys`,
    `INSERT INTO credits (action_index, address_id, tick_id, amount) VALUES (${action}, ${address}, ${tick}, '5')`,
    `UPDATE balances SET amount = amount + 5 WHERE address_id = ${address} AND tick_id = ${tick}`,
    `UPDATE tokens SET supply = supply + 5 WHERE tick_id = ${tick}`
  );
  const faults = (await faultsIn(indexer)).filter((fault) => !/the (?:actions|contract) hash is null/.test(fault));
  assert.deepEqual(
    faults.filter((fault) => !fault.startsWith('mappings_actions has')),
    []
  );
});

test('a missing input of a check of single columns is named, and the other checks go on', async () => {
  await sql(indexer, 'ALTER TABLE fees DROP COLUMN native_coin_amount', 'DROP TABLE prices');
  const { unchecked } = await checkDatabase(indexer);
  for (const name of ['fees.native_coin_amount', 'prices.validation_status'])
    assert.ok(unchecked.includes(`${name}: the database has no such column`), unchecked.join('\n'));
});

test('a database without what every check needs is refused, by table and column', async () => {
  await sql(indexer, 'ALTER TABLE actions DROP COLUMN tx_index', 'DROP TABLE balances');
  const { output, code } = run(indexer);
  assert.equal(code, 1, output);
  assert.match(output, /no database of a compatible indexer: it lacks column actions\.tx_index, table balances/);
});

test('the outputs of a decoder in use are coins of 8 places; base units are told', async () => {
  await sql(
    decoder,
    "INSERT INTO transactions (tx_index, tx_hash_id, block_index, source_id, destination_id, fee, data) VALUES (1, 1, 1, 2, 1, 0, 'SEND')",
    "INSERT INTO transaction_outputs (tx_index, vout, destination_id, amount) VALUES (1, 0, 2, '0.00100000')"
  );
  await sql(decoder, 'UPDATE blocks SET block_time = 1700000000');
  assert.deepEqual(await faultsIn(decoder), []);
  await sql(decoder, "UPDATE transaction_outputs SET amount = '100000'");
  assert.deepEqual(await faultsIn(decoder), [
    'transaction_outputs.amount is an amount in coins, with 8 places: tx_index 1, amount 100000'
  ]);
});
