import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { sql } from '../../support/sql.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const SECONDS = 2 ** 32 - 1;
const PRICE = {
  source_chain: 'LTC',
  source_address: 'ltc1qissuer',
  coin: 'LTC',
  tick: 'TOK',
  fiat: 'USD',
  value: '1.25',
  block_time: 1_700_000_000,
  push_generation: 0
};
const REWARDS = { round: 1, reward_type: 'price', block_index: 10 };

/** Texts that differ only in the last character, case, accent, what is not seen, plane or length. */
const pairsOf = (longest: number): readonly (readonly [string, string])[] => [
  ['hello', 'Hello'],
  ['hello', 'héllo'],
  ['strasse', 'straße'],
  ['x', 'x '],
  ['x', 'x\u200b'],
  ['a b', 'a\u00a0b'],
  ['\u{1F600}', '\u{10FFFF}'],
  ['e\u0301', 'é'],
  ['1.0', '1.00'],
  ['"\\\'%_', '"\\\'%-'],
  ['m'.repeat(longest), 'm'.repeat(longest - 1)],
  [`${'\u{1F600}'.repeat(longest - 1)}a`, `${'\u{1F600}'.repeat(longest - 1)}b`]
];

let hub: RunningHub;
before(async () => {
  hub = await runHub({ HUB_RATE_LIMIT_RPM: '100000' });
});
after(() => hub.stop());

async function push(method: string, params: object): Promise<unknown> {
  const { json } = await hub.call(method, params);
  assert.ok(json.result, `${method}: ${JSON.stringify(json).slice(0, 300)}`);
  return json.result;
}

async function texts(table: string, column: string, order = 'id'): Promise<unknown[]> {
  return (await sql(hub.database, `SELECT ${column} AS text FROM ${table} ORDER BY ${order}`)).map(({ text }) => text);
}

test('a price keeps its ticker and memo to the byte, and two that differ stay two', async () => {
  let index = 0;
  for (const [field, longest] of [
    ['tick', 250],
    ['memo', 512]
  ] as const) {
    const pushed = pairsOf(longest).flat();
    for (const text of pushed) await push('pushoracleprice', { ...PRICE, [field]: text, action_index: ++index });
    assert.deepEqual((await texts('oracle_prices', field)).slice(-pushed.length), pushed);
  }
});

test('the longest names and numbers that pushes may carry have room', async () => {
  const decimal = `${'9'.repeat(40)}.${'9'.repeat(18)}`;
  const longest = {
    source_chain: 'X'.repeat(16),
    source_address: 'a'.repeat(120),
    coin: 'x'.repeat(16),
    tick: '\u{1F600}'.repeat(250),
    fiat: 'Z'.repeat(16),
    value: decimal,
    fee: decimal,
    memo: '\u{1F600}'.repeat(512),
    block_time: SECONDS
  };
  await push('pushoracleprice', { ...longest, action_index: LARGEST, push_generation: LARGEST - 1 });
  await push('pushoracleprice', { ...longest, coin: 'X'.repeat(16), action_index: LARGEST - 1, push_generation: 0 });
  assert.deepEqual((await texts('oracle_prices', 'value')).slice(-2), [decimal, decimal]);

  for (const network of ['n'.repeat(16), 'N'.repeat(16)])
    await push('pushchaintip', { coin: 'c'.repeat(16), network, block_height: LARGEST, block_time: SECONDS });
  assert.equal((await texts('chain_tips', 'network', 'network')).length, 1, 'they differ in case only');

  const types = ['t'.repeat(32), 'T'.repeat(32), `${'t'.repeat(31)}_`];
  for (const reward_type of types) {
    const rewards = ['0', 'f'].map((digit) => ({ pubkey: digit.repeat(64), amount: decimal }));
    await push('pushvalidatorrewards', { ...REWARDS, round: LARGEST, block_index: LARGEST, reward_type, rewards });
  }
  assert.equal((await texts('validator_rewards', 'amount')).length, 2 * types.length);

  const round = { source_chain: 'DOGE', round: LARGEST, timestamp: SECONDS, btc_block_height: LARGEST, sigs: [] };
  const pairs = [
    { pair: 'ABCDEFGHIJ/USD', price: '10000000000' },
    { pair: 'ABCDEFGHIKUSD', price: '9999999999.99999999' }
  ];
  await push('pushpriceround', {
    ...round,
    pairs,
    action_index: LARGEST,
    block_index: LARGEST,
    push_generation: LARGEST - 1
  });
});

test('a configuration keeps the longest names and values of any text', async () => {
  const pairs = pairsOf(512);
  const modules = Object.fromEntries(
    pairs.flatMap((pair, place) =>
      pair.map((text, half) => [`${half ? 'first' : 'second'}${place}`, { user: text, pass: text }])
    )
  );
  const longest = {
    ['m'.repeat(64)]: { user: 'v'.repeat(1_024) },
    ['o'.repeat(64)]: { user: '\u{1F600}'.repeat(512) }
  };
  await push('updateconfig', { config: { ['c'.repeat(16)]: { ['n'.repeat(16)]: { ...modules, ...longest } } } });
  const { configs } = (await push('getallconfigs', {})) as { configs: Record<string, Record<string, object>> };
  assert.deepEqual(configs['c'.repeat(16)]?.['n'.repeat(16)], { ...modules, ...longest });
});

test('proposals of the longest parameter, values and reason have room, and stay two', async () => {
  const parameters = ['p'.repeat(255), `${'p'.repeat(254)}~`, 'p'.repeat(254), '"\\\'%_', '"\\\'%-'];
  const value = '\u{1F600}'.repeat(255);
  for (const parameter of parameters) {
    const params = {
      parameter,
      current_value: value,
      proposed_value: `${value.slice(2)}x`,
      rationale: '\u{1F600}'.repeat(2_000)
    };
    await push('propose', params);
  }
  assert.deepEqual(await texts('governance_proposals', 'parameter'), parameters);
});
