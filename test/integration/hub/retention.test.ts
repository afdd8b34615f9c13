import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const AGES = [400, 40, 1];
const ago = (days: number) => `NOW() - INTERVAL ${days} DAY`;

/** Rows of each age, by somebody who is trusted and by somebody who is not. */
async function fill({ database }: RunningHub): Promise<void> {
  const statements = [0, 1].flatMap((trusted) =>
    AGES.flatMap((days, at) => {
      const n = trusted * 10 + at + 1;
      return [
        `INSERT INTO chain_tips VALUES ('c${n}', 'mainnet', 1, 1, ${trusted}, ${ago(days)})`,
        `INSERT INTO validator_rewards SET validator_pubkey = '${n}', round_number = 1, reward_type = 'oracle', amount = '1',
           block_index = 1, trusted = ${trusted}, created_at = ${ago(days)}`,
        `INSERT INTO oracle_prices SET source_address = 'a${trusted}', source_chain = 'LTC', coin = 'LTC', tick = 'T', fiat = 'USD',
           value = '1', block_time = 1, effective_at = ${n}, action_index = ${n}, trusted = ${trusted}, created_at = ${ago(days)}`,
        `INSERT INTO price_snapshots SET round_number = ${n}, coin_pair = 'BTC/USD', price = 1, block_timestamp = ${n},
           validator_count = 1, status = 'finalized', origin = 'validators', trusted = ${trusted}, created_at = ${ago(days)}`
      ];
    })
  );
  const lone = `INSERT INTO oracle_prices SET source_address = 'lone', source_chain = 'LTC', coin = 'LTC', tick = 'T', fiat = 'USD',
    value = '1', block_time = 1, effective_at = 1, action_index = 99, trusted = 0, created_at = ${ago(400)}`;
  const last = `INSERT INTO price_snapshots SET round_number = 1, coin_pair = 'LTC/USD', price = 1, block_timestamp = 1,
    validator_count = 1, status = 'finalized', origin = 'validators', trusted = 0, created_at = ${ago(400)}`;
  const reorg = `INSERT INTO reorg_attestations SET reorg_id = 'r', source_chain = 'LTC', reorg_height = 1, reorg_timestamp = 1,
    old_hash = 'a', new_hash = 'b', affected_chains = '', validator_count = 0, status = 'unverified', created_at = ${ago(400)}`;
  await sql(database, ...statements, lone, last, reorg);
}

const TABLES = ['chain_tips', 'validator_rewards', 'oracle_prices', 'price_snapshots', 'reorg_attestations'];
const countsOf = async ({ database }: RunningHub) =>
  Promise.all(
    TABLES.map(async (table) => Number((await sql(database, `SELECT COUNT(*) AS n FROM ${table}`))[0]?.['n']))
  );

test('rows that strangers pushed go with age, those of others by a setting of their own, and what holds stays', async (t) => {
  const first = await runHub();
  await fill(first);
  assert.deepEqual(await countsOf(first), [6, 6, 7, 7, 1]);
  await first.stop();
  const again = async (env: Record<string, string>, counts: readonly number[]) => {
    const hub = await runHub(env, { database: first.database });
    t.after(hub.stop);
    await eventually('old rows are deleted', async () => String(await countsOf(hub)) === String(counts));
    await hub.stop();
  };
  await again({}, [5, 5, 6, 6, 1]); // of strangers those of 400 days
  await again({ HUB_UNTRUSTED_RETENTION_DAYS: '30' }, [4, 4, 5, 5, 1]);
  await again({ HUB_HISTORY_RETENTION_DAYS: '30' }, [2, 2, 3, 3, 0]);
  const left = await sql(first.database, 'SELECT source_address AS address FROM oracle_prices ORDER BY id');
  assert.ok(
    left.some(({ address }) => address === 'lone'),
    'a price that holds has no age'
  );
  const pairs = await sql(first.database, "SELECT 1 FROM price_snapshots WHERE coin_pair = 'LTC/USD'");
  assert.equal(pairs.length, 1, 'the last round of a pair is its price');
});

test('tables that everybody may write to are bounded in a hub without a key: past rows give way, those that hold do not, and more are refused', async (t) => {
  const first = await runHub();
  const hex = "LPAD(HEX(seq), 64, '0')";
  const proposal =
    'proposal_id, proposer_pubkey, parameter, proposed_value, status, voting_start, voting_end, validator_snapshot';
  await sql(
    first.database,
    `INSERT INTO validators (signing_pubkey, addr, status, updated_at)
       SELECT ${hex}, 'a:1', IF(seq <= 16000, 'removed', 'active'), NOW() - INTERVAL seq SECOND FROM seq_1_to_26000`,
    `INSERT INTO attestations (attestation_id, source_chain, source_action_index, dest_chain, status, validator_count)
       SELECT CONCAT('LTC:', seq, ':BTC'), 'LTC', seq, 'BTC', IF(seq > 7, 'unverified', 'attested'), 0 FROM seq_1_to_10017`,
    `INSERT INTO swap_records (source_chain, source_action_index, dest_chain, status)
       SELECT 'LTC', seq, 'BTC', IF(seq > 7, IF(seq % 2, 'initiated', 'failed'), 'attested') FROM seq_1_to_10017`,
    `INSERT INTO governance_proposals (${proposal})
       SELECT CONCAT('gov:', seq), 'standalone', IF(seq <= 5, 'SAME', CONCAT('P', seq)), '1',
         IF(seq <= 9, 'passed', IF(seq <= 17, 'voting', 'failed')), 1, IF(seq <= 12, 9e12, 2), '[]' FROM seq_1_to_10020`,
    `INSERT INTO governance_votes (proposal_id, voter_pubkey, vote)
       SELECT CONCAT('gov:', seq), 'standalone', 'approve' FROM seq_1_to_9`
  );
  await first.stop();
  const hub = await runHub({}, { database: first.database });
  t.after(hub.stop);
  const countOf = async (table: string, where = 'TRUE') =>
    Number((await sql(hub.database, `SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`))[0]?.['n']);
  await eventually('what is past is deleted', 20_000, async () => (await countOf('governance_votes')) === 5);
  assert.deepEqual(
    [await countOf('validators', "status = 'removed'"), await countOf('validators', "status = 'active'")],
    [10_000, 10_000]
  );
  assert.equal(await countOf('validators', "signing_pubkey = LPAD('1', 64, '0')"), 1, 'the newest stay');
  assert.deepEqual([await countOf('attestations'), await countOf('swap_records')], [10_007, 10_007]);
  // In force are gov:5 and four others, open three.
  assert.deepEqual([await countOf('governance_proposals'), await countOf('governance_votes')], [10_008, 5]);
  const refusal = async (method: string, params: object) => (await hub.call(method, params)).json.error;
  const key = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
  const one = { signing_pubkey: key, addr: 'b:1' };
  assert.match((await refusal('registervalidator', one)).message, /keeps 10000 active validators/);
  assert.match((await refusal('syncvalidators', { validators: [one] })).message, /keeps 10000 active validators/);
  assert.equal(await countOf('validators', `signing_pubkey = '${key}'`), 0);
  await sql(
    hub.database,
    `INSERT INTO governance_proposals (${proposal})
       SELECT CONCAT('more:', seq), 'standalone', CONCAT('Q', seq), '1', 'voting', 1, 9e12, '[]' FROM seq_1_to_9992`,
    `INSERT INTO configs (coin, network, module, param_name, param_value) SELECT 'LTC', 'x', CONCAT('m', seq), 'name', 'n' FROM seq_1_to_100000`
  );
  const proposed = { parameter: 'NEW', current_value: '1', proposed_value: '1.1' };
  assert.match((await hub.call('propose', proposed)).json.result.error, /keeps 20000 proposals/);
  const entry = (module: string) => ({ config: { LTC: { x: { [module]: { name: 'other' } } } } });
  assert.match(
    (await refusal('updateconfig', entry('new'))).message,
    /100000 entries and 20971520 bytes of values at most/
  );
  assert.equal(await refusal('updateconfig', entry('m1')), undefined);
  await sql(
    hub.database,
    'DELETE FROM configs',
    `INSERT INTO configs (coin, network, module, param_name, param_value)
       SELECT 'LTC', 'x', CONCAT('m', seq), 'user', REPEAT('n', 1024) FROM seq_1_to_20480`
  );
  assert.match((await refusal('updateconfig', entry('new'))).message, /bytes of values at most/);
  const shorter = { config: { LTC: { x: { m1: { user: 'n' } } } } };
  assert.equal(await refusal('updateconfig', shorter), undefined);
  assert.equal(await refusal('updateconfig', entry('new')), undefined);
});
