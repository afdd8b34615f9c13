import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import nacl from 'tweetnacl';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/** A caller on another machine: what a proxy on this one passes on. */
const STRANGER = { 'x-forwarded-for': '203.0.113.7' };
const KEY = { ...STRANGER, 'x-api-key': 'k' };
const PRICE = {
  source_chain: 'LTC',
  source_address: 'ltc1qissuer',
  coin: 'LTC',
  tick: 'TOK',
  fiat: 'USD',
  value: '1.25',
  block_time: 1_700_000_000,
  action_index: 7,
  push_generation: 0
};
const PUBKEY = 'f'.repeat(64);
const REWARDS = { round: 1, reward_type: 'price', block_index: 10, rewards: [{ pubkey: PUBKEY, amount: '1.5' }] };
const PUSHES: readonly (readonly [method: string, params: object])[] = [
  ['pushchaintip', { coin: 'bitcoin', block_height: 5, block_time: 6 }],
  ['pushoracleprice', PRICE],
  ['pushvalidatorrewards', REWARDS],
  ['pushpricereorg', { source_chain: 'LTC', from_action_index: 1 }]
];
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

async function start(t: TestContext, env: Record<string, string> = {}, database?: RunningHub['database']) {
  const hub = await runHub(env, database ? { database } : {});
  t.after(hub.stop);
  return hub;
}

/** Makes the only active validator, and rounds that it signed. */
async function registerSigner(hub: RunningHub) {
  const { publicKey, secretKey } = nacl.sign.keyPair();
  const pubkey = hex(publicKey);
  const { json } = await hub.call('registervalidator', { signing_pubkey: pubkey, addr: 'v.example:1' }, KEY);
  assert.ok(json.result, JSON.stringify(json));
  return (round: number, timestamp: number, price: string) => {
    const body = { round, timestamp, btc_block_height: 800_000, pairs: [{ pair: 'BTC/USD', price }] };
    const sig = hex(nacl.sign.detached(Buffer.from(JSON.stringify(body)), secretKey));
    const place = { source_chain: 'DOGE', action_index: round, block_index: 9, push_generation: 0 };
    return { ...body, ...place, sigs: [{ pubkey, sig }] };
  };
}

test('UNAUTHORIZED: with a key set, pushes of callers on other machines need it; HUB_PUSH_AUTH=false takes them', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k' });
  for (const [method, params] of PUSHES) {
    const refused = await hub.call(method, params, STRANGER);
    assert.deepEqual([refused.status, refused.json.error.code], [401, -32001], method);
    assert.ok((await hub.call(method, params, KEY)).json.result, method);
    assert.ok((await hub.call(method, params)).json.result, method);
    // A web page's request is not one of a program of this machine.
    assert.equal((await hub.call(method, params, { origin: 'http://evil.example' })).status, 401, method);
  }
  const open = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  for (const [method, params] of PUSHES) assert.ok((await open.call(method, params, STRANGER)).json.result, method);
});

test("a stranger's push does not stay: a trusted indexer takes its place, whatever generation it has", async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  const ask = async (method: string, params: object, headers: Record<string, string>) =>
    (await hub.call(method, params, headers)).json.result;
  const forged = { ...PRICE, value: '9999', push_generation: Number.MAX_SAFE_INTEGER - 1 };
  assert.deepEqual(await ask('pushoracleprice', forged, STRANGER), { accepted: true });
  assert.deepEqual(await ask('pushoracleprice', PRICE, KEY), { accepted: true });
  const again = await ask('pushoracleprice', forged, STRANGER);
  assert.deepEqual(again, { accepted: false, reason: 'stale', generation: 0 });
  const nothing = { retracted: { price_snapshots: 0, oracle_prices: 0 } };
  assert.deepEqual(await ask('pushpricereorg', { source_chain: 'LTC', from_action_index: 0 }, STRANGER), nothing);
  const [row] = await sql(hub.database, 'SELECT value, push_generation FROM oracle_prices');
  assert.deepEqual({ ...row }, { value: '1.25', push_generation: 0 });

  const none = { ...REWARDS, rewards: [{ pubkey: PUBKEY, amount: '0' }] };
  assert.deepEqual(await ask('pushvalidatorrewards', none, STRANGER), { written: 1, skipped: 0 });
  assert.deepEqual(await ask('pushvalidatorrewards', REWARDS, KEY), { written: 1, skipped: 0 });
  assert.deepEqual(await ask('pushvalidatorrewards', none, STRANGER), { written: 0, skipped: 1 });
  assert.equal((await sql(hub.database, 'SELECT amount FROM validator_rewards'))[0]?.['amount'], '1.5');

  const tip = { coin: 'bitcoin', network: 'mainnet', block_height: 9_000_000, block_time: 1_700_000_000 };
  assert.deepEqual(await ask('pushchaintip', tip, STRANGER), { status: 'success' });
  const proposal = { parameter: 'FEE', current_value: '100', proposed_value: '120' };
  assert.equal((await ask('propose', proposal, KEY)).activation_block, null, 'no false tip decides');
  await ask('pushchaintip', { ...tip, block_height: 800_000 }, KEY);
  assert.equal((await ask('pushchaintip', tip, STRANGER)).accepted, false);
  assert.deepEqual(
    (await ask('getchaintips', {}, STRANGER)).map((known: { block_height: number }) => known.block_height),
    [800_000]
  );

  const sign = await registerSigner(hub);
  const round = sign(5, 1_700_000_000, '65000');
  assert.deepEqual(await ask('pushpriceround', { ...round, source_chain: 'LTC', action_index: 1 }, STRANGER), {
    accepted: true
  });
  assert.deepEqual(await ask('pushpriceround', round, KEY), { accepted: true });
  const [kept] = await sql(hub.database, 'SELECT source_chain, source_action_index AS at FROM price_snapshots');
  assert.deepEqual({ ...kept }, { source_chain: 'DOGE', at: 5 });
});

test('a feed that a trusted indexer tells is told by nobody else, and its first price holds at once', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  const push = async (params: object, headers: Record<string, string>) =>
    (await hub.call('pushoracleprice', { ...PRICE, ...params }, headers)).json.result;
  const most = Number.MAX_SAFE_INTEGER - 1;
  await push({ action_index: 5, value: '9998', push_generation: most }, STRANGER);
  await push({ action_index: most, value: '9999', push_generation: most }, STRANGER);
  assert.deepEqual(await push({ action_index: 8 }, KEY), { accepted: true });
  const early = { action_index: 9, value: '1000', block_time: PRICE.block_time - 86_400 + 5 };
  assert.deepEqual(await push(early, STRANGER), { accepted: false, reason: 'stale' });
  const kept = async () =>
    (
      await sql(hub.database, 'SELECT action_index AS at, value, effective_at - block_time AS delay FROM oracle_prices')
    ).map((row) => ({ ...row }));
  assert.deepEqual(await kept(), [{ at: 8, value: '1.25', delay: 0 }]);
  const gone = await sql(
    hub.database,
    'SELECT from_action_index AS at, retraction_generation AS below FROM price_removals ORDER BY id'
  );
  assert.deepEqual(
    gone.map((row) => ({ ...row })),
    [5, most].map((at) => ({ at, below: most + 1 })),
    'readers of the stream are told'
  );
  await push({ action_index: 3, tick: 'OTHER', push_generation: most }, STRANGER);
  const taken = { source_chain: 'LTC', from_action_index: 0, retraction_generation: 1 };
  assert.deepEqual((await hub.call('pushpricereorg', taken, KEY)).json.result, {
    retracted: { price_snapshots: 0, oracle_prices: 2 }
  });
  assert.deepEqual(await kept(), [], 'what a stranger told goes too, whatever generation it claims');
});

test('from when on prices hold does not depend on when a hub was told of them', async (t) => {
  const [one, other] = [await start(t), await start(t)];
  const push = async (hub: RunningHub, at: number) =>
    (await hub.call('pushoracleprice', { ...PRICE, action_index: at, block_time: PRICE.block_time + at })).json.result;
  for (const at of [5, 6, 7]) assert.deepEqual(await push(one, at), { accepted: true });
  for (const at of [7, 6, 5]) assert.deepEqual(await push(other, at), { accepted: true });
  const shownBy = async (hub: RunningHub) =>
    (
      await sql(
        hub.database,
        'SELECT action_index AS at, effective_at - block_time AS delay FROM oracle_prices ORDER BY action_index'
      )
    ).map((row) => ({ ...row }));
  const expected = [5, 6, 7].map((at) => ({ at, delay: at === 5 ? 0 : 86_400 }));
  assert.deepEqual([await shownBy(one), await shownBy(other)], [expected, expected]);
  const first = { source_chain: 'LTC', from_action_index: 5, to_action_index: 5 };
  for (const hub of [one, other]) {
    await hub.call('pushpricereorg', first);
    assert.deepEqual(await shownBy(hub), [
      { at: 6, delay: 0 },
      { at: 7, delay: 86_400 }
    ]);
  }
});

test('a round that two chains carry stays when a reorg takes it from one of them', async (t) => {
  const hub = await start(t);
  const sign = await registerSigner(hub);
  const round = sign(50, 1_700_000_000, '65000');
  const push = async (place: object) => (await hub.call('pushpriceround', { ...round, ...place })).json.result;
  const carriers = ['BTC', 'LTC', 'DOGE'].map((source_chain, n) => ({ source_chain, action_index: 70 + n }));
  for (const [n, place] of carriers.entries()) assert.equal((await push(place)).accepted, n === 0);
  const kept = async () =>
    (await sql(hub.database, 'SELECT source_chain AS chain, source_action_index AS at FROM price_snapshots')).map(
      (row) => ({ ...row })
    );
  for (const [chain, at, left] of [
    ['LTC', 71, { chain: 'BTC', at: 70 }],
    ['BTC', 70, { chain: 'DOGE', at: 72 }]
  ] as const) {
    await hub.call('pushpricereorg', { source_chain: chain, from_action_index: at, retraction_generation: 1 });
    assert.deepEqual(await kept(), [left]);
  }
  await hub.call('pushpricereorg', { source_chain: 'DOGE', from_action_index: 0, retraction_generation: 1 });
  assert.deepEqual(await kept(), [], 'no chain carries it');
});

test('names of coins and chains in another case are the same ones: no stranger has a row beside a trusted one', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  const ask = async (method: string, params: object, headers: Record<string, string>) =>
    (await hub.call(method, params, headers)).json.result;
  assert.deepEqual(await ask('pushoracleprice', PRICE, KEY), { accepted: true });
  const forged = { ...PRICE, source_chain: 'ltc', coin: 'Ltc', value: '9999', push_generation: 5 };
  assert.equal((await ask('pushoracleprice', forged, STRANGER)).reason, 'stale');
  assert.equal((await ask('pushoracleprice', { ...forged, action_index: 8 }, STRANGER)).reason, 'stale');
  const round = (await registerSigner(hub))(5, 1_700_000_000, '65000');
  await ask('pushpriceround', round, KEY);
  assert.equal((await ask('pushpriceround', { ...round, source_chain: 'doge' }, KEY)).reason, 'duplicate');
  const taken = { from_action_index: 0, retraction_generation: 1 };
  const retracted = async (source_chain: string) =>
    (await ask('pushpricereorg', { ...taken, source_chain }, KEY)).retracted;
  assert.deepEqual(await retracted('doge'), { price_snapshots: 1, oracle_prices: 0 });
  assert.deepEqual(await retracted('ltc'), { price_snapshots: 0, oracle_prices: 1 });

  const tip = { coin: 'BTC', network: 'mainnet', block_height: 800_000, block_time: 1_700_000_000 };
  const tips = async () =>
    (await ask('getchaintips', {}, KEY)).map(({ coin, network }: typeof tip) => `${coin}/${network}`);
  await ask('pushchaintip', tip, KEY);
  assert.equal((await ask('pushchaintip', { ...tip, coin: 'btc' }, STRANGER)).accepted, false);
  assert.deepEqual(await tips(), ['BTC/mainnet']);
  await ask('pushchaintip', { ...tip, network: 'Mainnet' }, KEY);
  assert.deepEqual(await tips(), ['BTC/Mainnet'], 'as it was said last');
});

test('chains that strangers invent keep no place from those that trusted callers carry a round by', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  const round = (await registerSigner(hub))(50, 1_700_000_000, '65000');
  const push = async (source_chain: string, headers: Record<string, string>) =>
    await hub.call('pushpriceround', { ...round, source_chain, action_index: 70 }, headers);
  for (let n = 0; n < 10; n++) await push(`X${n}`, STRANGER);
  for (const chain of ['BTC', 'LTC']) await push(chain, KEY);
  await hub.call('pushpricereorg', { source_chain: 'BTC', from_action_index: 0, retraction_generation: 1 }, KEY);
  const [kept] = await sql(hub.database, 'SELECT source_chain AS chain, trusted FROM price_snapshots');
  assert.deepEqual({ ...kept }, { chain: 'LTC', trusted: 1 });
});

test('the newest rewards of a validator, and their sum, are those that trusted callers told, however many strangers tell', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  await registerSigner(hub);
  const [{ pubkey }] = (await sql(hub.database, 'SELECT signing_pubkey AS pubkey FROM validators')) as unknown as [
    { pubkey: string }
  ];
  const rewardsOf = (round: number, amount: string) => ({ ...REWARDS, round, rewards: [{ pubkey, amount }] });
  await hub.call('pushvalidatorrewards', rewardsOf(1, '1.5'), KEY);
  for (let round = 2; round < 103; round++) await hub.call('pushvalidatorrewards', rewardsOf(round, '9'), STRANGER);
  const found = (await hub.call('getvalidatorstatus', { signing_pubkey: pubkey })).json.result;
  const { recentRewards, unclaimedRewards } = found;
  assert.deepEqual([recentRewards.length, recentRewards[0].round_number], [100, 1]);
  assert.deepEqual([recentRewards[0].trusted, recentRewards[1].trusted], [true, false]);
  assert.equal(unclaimedRewards, '1.5');
});

test('tables that strangers fill are bounded: the oldest of their rows go, and no others', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'false' });
  await hub.call('pushoracleprice', PRICE);
  await hub.call('pushchaintip', { coin: 'bitcoin', block_height: 1, block_time: 1 });
  await hub.call('pushvalidatorrewards', REWARDS);
  await sql(
    hub.database,
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index)
       SELECT 's', 'LTC', 'LTC', 'T', 'USD', '1', 1, 1, 1000 + seq FROM seq_1_to_10000`,
    `INSERT INTO chain_tips (coin, network, block_height, block_time, updated_at)
       SELECT CONCAT('c', seq), 'x', 1, 1, NOW() - INTERVAL seq SECOND FROM seq_1_to_255`,
    `INSERT INTO validator_rewards (validator_pubkey, round_number, reward_type, amount, block_index)
       SELECT REPEAT('a', 64), seq, 'x', '1', 1 FROM seq_1_to_10000`
  );
  await hub.call('pushoracleprice', { ...PRICE, tick: 'OTHER', action_index: 50_000 }, STRANGER);
  await hub.call('pushchaintip', { coin: 'new', block_height: 1, block_time: 1 }, STRANGER);
  await hub.call('pushvalidatorrewards', { ...REWARDS, round: 20_000 }, STRANGER);
  const count = async (table: string) =>
    (await sql(hub.database, `SELECT SUM(trusted) AS trusted, SUM(NOT trusted) AS others FROM ${table}`)).map(
      (row) => ({
        ...row
      })
    );
  assert.deepEqual(await count('oracle_prices'), [{ trusted: '1', others: '10000' }]);
  assert.deepEqual(await count('chain_tips'), [{ trusted: '1', others: '255' }]);
  assert.deepEqual(await count('validator_rewards'), [{ trusted: '1', others: '10000' }]);
  const gone = await sql(hub.database, "SELECT 1 FROM chain_tips WHERE coin = 'c255'");
  assert.equal(gone.length, 0, 'the stalest');
});

test('a reorg takes prices back: what then comes is a first price, and readers of the stream are told', async (t) => {
  const hub = await start(t);
  const push = async (params: object) => (await hub.call('pushoracleprice', { ...PRICE, ...params })).json.result;
  assert.deepEqual(await push({ action_index: 7 }), { accepted: true });
  const { json } = await hub.call('pushpricereorg', {
    source_chain: 'LTC',
    from_action_index: 7,
    retraction_generation: 1
  });
  assert.deepEqual(json.result, { retracted: { price_snapshots: 0, oracle_prices: 1 } });
  assert.deepEqual(await push({ action_index: 6, push_generation: 1 }), { accepted: true });
  const rows = await sql(hub.database, 'SELECT action_index, effective_at - block_time AS delay FROM oracle_prices');
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ action_index: 6, delay: 0 }]
  );
  const [removal] = await sql(hub.database, 'SELECT * FROM price_removals');
  assert.deepEqual([removal?.['from_action_index'], removal?.['retraction_generation']], [7, 1]);
});

test('thousands of feeds that strangers told hold no push up when an indexer takes them back', async (t) => {
  const hub = await start(t);
  await sql(
    hub.database,
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index)
       SELECT 's', 'LTC', 'LTC', CONCAT('T', seq), 'USD', '1', 1, 1, 1000 + seq FROM seq_1_to_10000`
  );
  const asked = async () => {
    const [row] = await sql(hub.database, "SHOW GLOBAL STATUS LIKE 'Com_select'");
    return Number(row?.['Value']);
  };
  const before = await asked();
  const taken = { source_chain: 'LTC', from_action_index: 1_000, retraction_generation: 1 };
  assert.equal((await hub.call('pushpricereorg', taken)).json.result.retracted.oracle_prices, 10_000);
  const statements = (await asked()) - before;
  // Other tests ask the same server meanwhile; a statement for each feed would be 10,000.
  assert.ok(statements < 5_000, `${statements} statements`);
});

test('rounds of validators and of the hub have numbers of their own, and the validators count', async (t) => {
  const hub = await start(t);
  const now = Math.floor(Date.now() / 1_000);
  const own = (round: number, price: number, at: number) =>
    sql(
      hub.database,
      `INSERT INTO price_snapshots SET round_number = ${round}, coin_pair = 'BTC/USD', price = ${price},
         block_timestamp = ${at}, validator_count = 1, status = 'finalized', origin = 'hub'`
    );
  await own(2_900_000, 100, now);
  const sign = await registerSigner(hub);
  const priceNow = async () => {
    const { price, age_s } = (await hub.call('getprice', { pair: 'BTC/USD' })).json.result;
    return [price, age_s < 100];
  };
  assert.deepEqual(await priceNow(), ['100.00000000', true]);
  const push = async (round: object) => (await hub.call('pushpriceround', round)).json.result;
  assert.deepEqual(await push(sign(17, now - 60, '200')), { accepted: true });
  assert.deepEqual(await priceNow(), ['200.00000000', true], 'although its number is smaller');
  assert.deepEqual(
    await push(sign(2_900_000, now - 50, '201')),
    { accepted: true },
    'the hub has a round of that number'
  );
  assert.deepEqual(await priceNow(), ['201.00000000', true]);
  const ahead = await push(sign(2_900_001, now + 7_200, '300'));
  assert.deepEqual(ahead, { accepted: false, reason: 'invalid timestamp' });
  await sql(
    hub.database,
    "UPDATE price_snapshots SET block_timestamp = block_timestamp - 7200 WHERE origin = 'validators'"
  );
  assert.deepEqual(await priceNow(), ['100.00000000', true], 'until they fall silent');
});

test('a database of an older version is changed at the start; rows that are there are kept, and give way', async (t) => {
  const database = await createDatabase('hub');
  await (await runHub({}, { database })).stop();
  await sql(
    database,
    'ALTER TABLE price_snapshots DROP KEY price_snapshots_name, DROP KEY price_snapshots_origin, DROP KEY price_snapshots_round, DROP KEY price_snapshots_carried, DROP KEY price_snapshots_source, DROP COLUMN origin, DROP COLUMN sources, DROP COLUMN deviation, DROP COLUMN trusted, ADD UNIQUE KEY price_snapshots_name (round_number, coin_pair)',
    'ALTER TABLE price_removals DROP KEY price_removals_trusted, DROP COLUMN trusted',
    'ALTER TABLE oracle_prices DROP KEY oracle_prices_order, DROP KEY oracle_prices_trusted',
    ...['oracle_prices', 'validator_rewards', 'chain_tips'].map((table) => `ALTER TABLE ${table} DROP COLUMN trusted`),
    "ALTER TABLE attestations MODIFY confirmations INT UNSIGNED NOT NULL, MODIFY status ENUM('pending', 'attested', 'rejected', 'expired') NOT NULL",
    "ALTER TABLE reorg_attestations MODIFY status ENUM('reported', 'confirmed', 'rejected', 'expired') NOT NULL",
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, status, source_chain, source_action_index)
       VALUES (9, 'BTC/USD', 5, 1700000000, 4, 'finalized', 'DOGE', 3), (10, 'BTC/USD', 6, 1700000000, 1, 'finalized', NULL, NULL)`,
    `INSERT INTO oracle_prices (source_address, source_chain, coin, tick, fiat, value, block_time, effective_at, action_index, push_generation)
       VALUES ('ltc1qissuer', 'ltc', 'Ltc', 'TOK', 'USD', '7', 1, 1, 7, 99)`
  );
  const hub = await start(t, {}, database);
  const rows = await sql(database, 'SELECT round_number, origin FROM price_snapshots ORDER BY id');
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    [
      [9, 'validators'],
      [10, 'hub']
    ]
  );
  assert.deepEqual((await hub.call('pushoracleprice', PRICE)).json.result, { accepted: true });
  const prices = await sql(database, 'SELECT source_chain, coin, value FROM oracle_prices');
  assert.deepEqual(
    prices.map((row) => Object.values(row)),
    [['LTC', 'LTC', '1.25']]
  );
  await (await runHub({}, { database })).stop();
});
