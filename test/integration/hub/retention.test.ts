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
