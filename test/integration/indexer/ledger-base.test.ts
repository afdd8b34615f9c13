import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE, type Profile } from '../../../src/coin/profile.ts';
import { hasCode } from '../../../src/errors.ts';
import { TABLES_IN_USE } from '../../../src/indexer/definitions/definition.ts';
import { createStatement } from '../../../src/indexer/definitions/statement.ts';
import { ledgerBaseOf } from '../../../src/indexer/profile/base.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const [bitcoin, litecoin] = [chainNetwork('bitcoin', 'mainnet'), chainNetwork('litecoin', 'mainnet')];
const baseOf = (profile: Profile, network = bitcoin) => ledgerBaseOf(profile, network, 'PLATFORM');
const open = (database: DatabaseCoordinates, base: ReturnType<typeof baseOf>) =>
  IndexerStore.open(database, TEST_RULES, 30, { base });
const withHeight = (name: string, height: number | null): Profile => ({
  ...DEFAULT_PROFILE,
  activations: { ...DEFAULT_PROFILE.activations, [name]: height }
});

/** An index with blocks 1 to 3. */
async function indexed(profile: Profile | null): Promise<DatabaseCoordinates> {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 30, profile ? { base: baseOf(profile) } : {});
  for (const height of [1, 2, 3])
    await store.addBlocks([{ height, time: 1_700_000_000, hash: String(height).padStart(64, 'a'), transactions: [] }]);
  store.close();
  return database;
}

async function refusal(database: DatabaseCoordinates, base: ReturnType<typeof baseOf>): Promise<string | null> {
  try {
    (await open(database, base)).close();
    return null;
  } catch (caught) {
    assert.ok(hasCode(caught, 'DATABASE_UNUSABLE'), String(caught));
    return caught.message;
  }
}

test('DATABASE_UNUSABLE: an index of another network, rule or setting is refused with both values, and stays as it is', async () => {
  const database = await indexed(DEFAULT_PROFILE);
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null);
  assert.match(
    (await refusal(database, baseOf(DEFAULT_PROFILE, litecoin)))!,
    new RegExp(`network is ${bitcoin.name} in the database and ${litecoin.name} by the settings`)
  );
  assert.match(
    (await refusal(database, baseOf({ ...DEFAULT_PROFILE, gasTick: 'FUEL' })))!,
    /gasTick is "GAS" in the database and "FUEL" by .* blocks up to 3 are written by the former/
  );
  assert.match(
    (await refusal(database, baseOf(withHeight('SEND', 3))))!,
    /activation SEND is 0 in the database and 3 by the settings and the profile/
  );
  assert.match((await refusal(database, baseOf(withHeight('SEND', null))))!, /activation SEND is 0 .* and never by/);
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null);
});

test('a rule change counts when its height lies above the newest block, and is refused below it', async () => {
  const database = await indexed(DEFAULT_PROFILE);
  assert.equal(await refusal(database, baseOf(withHeight('ROLLCALL', 4))), null);
  assert.equal(await refusal(database, baseOf(withHeight('ROLLCALL', 9))), null, 'no block has it yet');
  assert.match(
    (await refusal(database, baseOf(withHeight('ROLLCALL', 3))))!,
    /activation ROLLCALL is 9 in the database and 3 by/
  );
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null, 'nor when it is left out again');
});

test('the height of a rule of fees alone is no part of a ledger without any', async () => {
  const earlier = await indexed(DEFAULT_PROFILE);
  const names = (await sql(earlier, 'SELECT name FROM ledger_base')).map(({ name }) => name);
  assert.ok(names.includes('activation UNPAID_ENDS') && !names.includes('activation PAID_EDITS'));
  assert.equal(await refusal(earlier, baseOf(withHeight('PAID_EDITS', 2))), null);
  const charged = (height: number) => {
    const profile = withHeight('PAID_EDITS', height);
    return { ...profile, gas: { ...profile.gas, offerDay: 550 } };
  };
  const gas = await indexed(charged(2));
  assert.match((await refusal(gas, baseOf(charged(3))))!, /activation PAID_EDITS is 2 in the database and 3 by/);
});

test('limits may change until the first block of their rule is written', async () => {
  const lower = (profile: Profile) => ({ ...profile, limits: { ...profile.limits, blockUnits: 20_000 } });
  const database = await indexed(withHeight('LIMITS', 4));
  assert.equal(await refusal(database, baseOf(lower(withHeight('LIMITS', 4)))), null);
  const counted = await indexed(withHeight('LIMITS', 3));
  assert.match(
    (await refusal(counted, baseOf(lower(withHeight('LIMITS', 3)))))!,
    /limits is .*"blockUnits":150000.* in the database and .*"blockUnits":20000/
  );
});

test('an index of an earlier release is tied once; another name, price or profile without a part in the ledger is none', async () => {
  const database = await indexed(null);
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null);
  const same = { ...DEFAULT_PROFILE, name: 'other', gasPrice: '2', payloadMagic: 'OTHR' };
  assert.equal(await refusal(database, baseOf(same)), null);
  assert.match((await refusal(database, baseOf(DEFAULT_PROFILE, litecoin)))!, /network is/);
  const stored = new Map(
    (await sql(database, 'SELECT name, value FROM ledger_base')).map(({ name, value }) => [name, value])
  );
  assert.deepEqual(
    [stored.get('network'), stored.get('version'), stored.get('firstBlock')],
    [bitcoin.name, '3', `1 ${'1'.padStart(64, 'a')}`]
  );
  assert.match(String(stored.get('digest')), /^[0-9a-f]{64}$/);
});

test('DATABASE_UNUSABLE: an index whose first blocks are gone, or others, is refused for its first block alone', async () => {
  const database = await indexed(DEFAULT_PROFILE);
  const [first, second] = ['1', '2'].map((height) => `${height} ${height.padStart(64, 'a')}`);
  await sql(database, 'DELETE FROM chain_blocks WHERE block_index = 1');
  for (let attempt = 0; attempt < 2; attempt++)
    assert.ok(
      (await refusal(database, baseOf(DEFAULT_PROFILE)))!.includes(
        `firstBlock is ${first} in ledger_base and ${second}`
      )
    );
  await sql(database, `INSERT INTO chain_blocks (block_index, block_hash) VALUES (1, '${'b'.repeat(64)}')`);
  assert.match((await refusal(database, baseOf(DEFAULT_PROFILE)))!, /and 1 b{64} by the blocks/);
  await sql(database, `UPDATE chain_blocks SET block_hash = '${'1'.padStart(64, 'a')}' WHERE block_index = 1`);
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null);
});

test('an index that was rolled back as a whole may begin with another block', async () => {
  const database = await indexed(DEFAULT_PROFILE);
  const store = await open(database, baseOf(DEFAULT_PROFILE));
  await store.rollBack(1);
  store.close();
  const again = await open(database, baseOf(DEFAULT_PROFILE));
  await again.addBlocks([{ height: 7, time: 1_700_000_000, hash: 'c'.repeat(64), transactions: [] }]);
  again.close();
  assert.equal(await refusal(database, baseOf(DEFAULT_PROFILE)), null);
});

test('an index is tied to its first block with that block, not with a later start', async () => {
  const database = await indexed(DEFAULT_PROFILE);
  const [row] = await sql(database, "SELECT value FROM ledger_base WHERE name = 'firstBlock'");
  assert.equal(row!['value'], `1 ${'1'.padStart(64, 'a')}`);
});

test('DATABASE_UNUSABLE: blocks of another indexer, of which nothing is changed; rules of a later release', async () => {
  const foreign = await createDatabase('indexer');
  for (const [name, table] of TABLES_IN_USE.indexer) await sql(foreign, createStatement(name, table));
  await sql(foreign, 'INSERT INTO blocks (block_index, block_time) VALUES (7, 1)');
  const before = await sql(foreign, 'SHOW TABLES');
  assert.match(
    (await refusal(foreign, baseOf(DEFAULT_PROFILE)))!,
    /another indexer wrote this database: its newest block is 7 in blocks and none in chain_blocks/
  );
  assert.deepEqual(await sql(foreign, 'SHOW TABLES'), before);
  const later = await indexed(DEFAULT_PROFILE);
  await sql(later, "UPDATE ledger_base SET value = '4' WHERE name = 'version'");
  assert.match((await refusal(later, baseOf(DEFAULT_PROFILE)))!, /version is 4 in the database and 3 by/);
  await sql(later, "UPDATE ledger_base SET value = '1' WHERE name = 'version'");
  assert.equal(await refusal(later, baseOf(DEFAULT_PROFILE)), null, 'one of an earlier release is taken over');
  assert.match(
    (await refusal(later, { ...baseOf(DEFAULT_PROFILE), version: 1 }))!,
    /version is 3 in the database and 1 by/,
    'and closed to that release'
  );
});
