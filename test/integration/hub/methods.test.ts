import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import nacl from 'tweetnacl';
import { Compile } from 'typebox/compile';
import type { OpenRpc } from '../../../src/service/rpc/openrpc.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { secondForm } from '../../support/second-signature.ts';
import { sql } from '../../support/sql.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const KEY = 'e'.repeat(64);
const now = () => Math.floor(Date.now() / 1_000);
const HASH = (digit: string) => digit.repeat(64);
const REORG = {
  chain: 'BTC',
  reorg_height: 800_000,
  timestamp: 1_700_000_000,
  old_hash: HASH('a'),
  new_hash: HASH('b')
};
const ACTION = { source_chain: 'BTC', source_action_index: 5, dest_chain: 'LTC' };
const PRICE = {
  source_chain: 'LTC',
  source_address: 'ltc1qaddress',
  coin: 'LTC',
  tick: 'TOK',
  fiat: 'USD',
  value: '1.25',
  block_time: 1_700_000_000,
  action_index: 7,
  push_generation: 0
};
const REWARDS = { round: 1, reward_type: 'price', block_index: 10, rewards: [{ pubkey: KEY, amount: '1.5' }] };
const ROUND = {
  source_chain: 'DOGE',
  round: 1,
  timestamp: 1_700_000_000,
  btc_block_height: 800_000,
  pairs: [{ pair: 'BTC/USD', price: '65000.5' }],
  sigs: [],
  action_index: 3,
  block_index: 9,
  push_generation: 0
};

/** A call of each method that succeeds, in an order in which those before make it succeed. */
const CALLS: readonly (readonly [method: string, params?: object])[] = [
  ['ping'],
  ['health'],
  ['updateconfig', { config: { bitcoin: { mainnet: { m: { host: 'h' } } } } }],
  ['getallconfigs'],
  ['registervalidator', { signing_pubkey: KEY, addr: 'wss://validator.example:10001' }],
  ['syncvalidators', { validators: [{ signing_pubkey: KEY, addr: 'validator.example:10001' }, { addr: 'odd' }] }],
  ['getvalidators'],
  ['getvalidatorstatus', { signing_pubkey: KEY }],
  ['getvalidatorcapabilities', {}],
  ['getcapabilitythresholds'],
  ['rotatevalidator', { addr: 'validator.example:10001', new_signing_pubkey: KEY }],
  ['deregistervalidator', { signing_pubkey: KEY }],
  ['pushvalidatorrewards', REWARDS],
  ['pushchaintip', { coin: 'bitcoin', block_height: 800_000, block_time: 1_700_000_000 }],
  ['getchaintips'],
  ['pushoracleprice', PRICE],
  ['pushpriceround', ROUND],
  ['pushpricereorg', { source_chain: 'DOGE', from_action_index: 900, retraction_generation: 1 }],
  ['getpricesnapshots', { with_watermark: true }],
  ['getfeequote', { action: 'issue', chain: 'LTC', subtoken: true }],
  ['requestattestation', ACTION],
  ['getattestations', { status: 'unverified' }],
  ['getattestation', { attestation_id: 'BTC:5:LTC' }],
  ['initiateswap', ACTION],
  ['getswaps'],
  ['getswap', { source_chain: 'BTC', source_action_index: 5 }],
  ['reportreorg', REORG],
  ['getreorghistory', { chain: 'BTC' }],
  ['propose', { parameter: 'FEE', current_value: '100', proposed_value: '120', rationale: 'costs rose' }],
  ['getproposals', { status: 'voting' }]
];
const WRITES = 'updateconfig registervalidator syncvalidators requestattestation initiateswap reportreorg propose vote';
const PUSHES = 'pushchaintip pushpriceround pushoracleprice pushpricereorg pushvalidatorrewards';

describe('the methods of a hub', () => {
  let hub: RunningHub;
  const result = async (method: string, params: object = {}) => {
    const { json } = await hub.call(method, params);
    assert.ok(!json.error && !json.result?.error, `${method}: ${JSON.stringify(json)}`);
    return json.result;
  };
  const refusal = async (method: string, params: object) => {
    const { json } = await hub.call(method, params);
    const failure = json.result?.error;
    if (failure !== undefined) return `${json.result.code} ${failure}`;
    assert.ok(json.error, `${method} ${JSON.stringify(json.result)}`);
    return `${json.error.code} ${json.error.data.code} ${json.error.message}`;
  };
  before(async () => {
    hub = await runHub();
  });
  after(() => hub.stop());

  test('a client made from the description calls every method, and each answers what it says', async () => {
    const { methods } = (await (await fetch(`${hub.url}/openrpc.json`)).json()) as OpenRpc;
    const called = new Set<string>();
    const callAndCheck = async (name: string, params: object = {}) => {
      const method = methods.find((each) => each.name === name);
      assert.ok(method, name);
      for (const { name: param, required } of method.params)
        assert.ok(!required || param in params, `${name} ${param}`);
      const answered = await result(name, params);
      assert.ok(Compile(method.result.schema).Check(answered), `${name} ${JSON.stringify(answered)}`);
      called.add(name);
      return answered;
    };
    for (const [name, params] of CALLS) await callAndCheck(name, params);
    const [{ proposal_id }] = await result('getproposals');
    await callAndCheck('getproposal', { proposal_id });
    await callAndCheck('vote', { proposal_id, vote: 'approve' });
    await callAndCheck('getvotes', { proposal_id });
    await sql(
      hub.database,
      "INSERT INTO price_snapshots SET round_number = 99, coin_pair = 'LTC/EUR', price = 80, block_timestamp = 1, validator_count = 0, status = 'finalized'"
    );
    await callAndCheck('getprice', { coin_pair: 'LTC/EUR' });
    for (const { name } of methods) {
      if (called.has(name)) continue;
      const answer = (await hub.call(name, {})).json.result;
      assert.ok(answer.error || answer.active === false || answer.effectors, `${name} ${JSON.stringify(answer)}`);
      called.add(name);
    }
    assert.deepEqual([...called].sort(), methods.map(({ name }) => name).sort());
    for (const name of [...WRITES.split(' '), ...PUSHES.split(' ')]) assert.ok(called.has(name), name);
  });

  test('each of the eight writes is one seq; pushes and refused writes are none', async () => {
    const seq = async () => (await result('getallconfigs')).seq;
    const before = await seq();
    await result('pushchaintip', { coin: 'litecoin', block_height: 1, block_time: 1 });
    await refusal('vote', { proposal_id: 'gov:none', vote: 'approve' });
    assert.equal(await seq(), before);
    await result('registervalidator', { signing_pubkey: KEY, addr: 'other.example:1' });
    assert.equal(await seq(), before + 1);
  });

  test('a validator with a new key replaces the one at its address', async () => {
    const [old, fresh] = [HASH('1'), HASH('2')];
    await result('registervalidator', { signing_pubkey: old.toUpperCase(), addr: 'same.example:1' });
    await result('registervalidator', { signing_pubkey: fresh, addr: 'same.example:1' });
    const active = (await result('getvalidators')).map((row: { signing_pubkey: string }) => row.signing_pubkey);
    assert.ok(active.includes(fresh) && !active.includes(old));
    assert.equal((await result('getvalidatorstatus', { signing_pubkey: old })).validator.status, 'removed');
    const noKeys = ['f'.repeat(64), '0'.repeat(64), `01${'0'.repeat(62)}`]; // no points, and one under which all is signed
    for (const key of noKeys)
      assert.match(await refusal('registervalidator', { signing_pubkey: key, addr: 'x:1' }), /no key of Ed25519/);
    const entries = ['zz', ...noKeys].map((signing_pubkey) => ({ signing_pubkey, addr: 'x:1' }));
    const synced = await result('syncvalidators', { validators: [...entries, null, 5] });
    assert.deepEqual(synced, { status: 'success', skipped: 6 });
  });

  test('tips are no configuration: they move no watermark', async () => {
    const { watermark, entries } = await result('getallconfigs');
    await result('pushchaintip', { coin: 'dogecoin', network: 'testnet', block_height: 5, block_time: 6 });
    await result('pushchaintip', { coin: 'dogecoin', network: 'testnet', block_height: 4, block_time: 7 });
    const tips = await result('getchaintips');
    const [tip, ...others] = tips.filter(({ coin }: { coin: string }) => coin === 'dogecoin');
    const { age_s: age, ...rest } = tip;
    assert.deepEqual(
      [rest, others],
      [{ coin: 'dogecoin', network: 'testnet', block_height: 4, block_time: 7, trusted: true }, []]
    );
    assert.ok(Number.isInteger(age) && age >= 0 && age < 60, `age ${age}`);
    await sql(hub.database, 'UPDATE chain_tips SET updated_at = updated_at + INTERVAL 1 HOUR');
    for (const { age_s } of await result('getchaintips')) assert.ok(age_s < -3_500, `the clock was set back: ${age_s}`);
    const after = await result('getallconfigs');
    assert.deepEqual([after.watermark, after.entries], [watermark, entries]);
  });

  test('SWAP_DIFFERS: without an indexer nothing is attested; another swap of the action is refused', async () => {
    const first = { source_chain: 'LTC', source_action_index: 1, dest_chain: 'DOGE' };
    await result('initiateswap', first);
    assert.equal((await result('getswap', first)).status, 'initiated');
    await result('requestattestation', first);
    const { id: swapId, created_at: begun, updated_at: _changed, ...swap } = await result('getswap', first);
    assert.match(`${swapId} ${begun}`, /^\d+ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.deepEqual(swap, {
      source_chain: 'LTC',
      source_action_index: 1,
      dest_chain: 'DOGE',
      dest_action_index: null,
      attestation_id: null,
      status: 'initiated'
    });
    const named = await result('getattestation', { attestation_id: 'LTC:1:DOGE' });
    assert.deepEqual(await result('getattestation', { source_chain: 'LTC', source_action_index: '1' }), named);
    const { id: _id, created_at: _created, updated_at: _updated, ...attested } = named;
    assert.deepEqual(attested, {
      attestation_id: 'LTC:1:DOGE',
      source_chain: 'LTC',
      source_action_index: 1,
      dest_chain: 'DOGE',
      confirmations: null,
      status: 'unverified',
      validator_count: 0,
      consensus_proof: null
    });
    const second = { ...first, source_action_index: 2 };
    const attestation = await result('requestattestation', second);
    assert.deepEqual([attestation.confirmations, attestation.status], [null, 'unverified'], 'nobody looked');
    await result('initiateswap', { ...second, dest_action_index: 9 });
    assert.equal((await result('getswap', second)).status, 'initiated');
    await result('initiateswap', second);
    assert.equal((await result('getswap', second)).dest_action_index, 9);
    await result('initiateswap', { ...first, dest_action_index: 7 });
    assert.equal((await result('getswap', first)).dest_action_index, 7);
    assert.match(
      await refusal('initiateswap', { ...first, dest_action_index: 8 }),
      /SWAP_DIFFERS .*LTC:1 goes to action 7 already, not to action 8/
    );
    assert.match(await refusal('initiateswap', { ...second, dest_chain: 'BTC' }), /SWAP_DIFFERS .*LTC:2 goes to DOGE/);
    assert.match(await refusal('requestattestation', { ...first, dest_chain: 'LTC' }), /-32602 .*are both LTC/);
    assert.match(await refusal('getswap', { source_chain: 'BTC', source_action_index: 404 }), /RECORD_UNKNOWN/);
  });

  test('RATE_LIMITED, REORG_DIFFERS: one reorg per chain and minute; the same report again is taken, one with other hashes is not', async () => {
    const report = { ...REORG, chain: 'LTC' };
    await result('reportreorg', report);
    await result('reportreorg', { ...report, old_hash: report.old_hash.toUpperCase() });
    assert.match(await refusal('reportreorg', { ...report, new_hash: HASH('c') }), /REORG_DIFFERS .*not from/);
    assert.match(await refusal('reportreorg', { ...report, reorg_height: 9 }), /-32029 RATE_LIMITED .*taken in \d+ s/);
    await result('reportreorg', { ...report, chain: 'DOGE' });
    await sql(hub.database, 'UPDATE reorg_attestations SET created_at = created_at - INTERVAL 2 MINUTE');
    await result('reportreorg', { ...report, reorg_height: 9 });
    const [newest] = await result('getreorghistory', { chain: 'LTC' });
    assert.deepEqual([newest.reorg_height, newest.status, newest.affected_chains], [9, 'unverified', '']);
    // The clock stepped back an hour since.
    await sql(hub.database, 'UPDATE reorg_attestations SET created_at = created_at + INTERVAL 1 HOUR');
    await result('reportreorg', { ...report, reorg_height: 10 });
    assert.match(await refusal('reportreorg', { ...report, new_hash: HASH('A') }), /-32602 .*nothing changed/);
  });

  test('PROPOSAL_REFUSED: open, out of bounds, another current value, over, rejected lately', async () => {
    const propose = (proposed_value: string, current_value?: string) => ({
      parameter: 'RATE',
      proposed_value,
      ...(current_value === undefined ? {} : { current_value })
    });
    for (const value of ['151', '66'])
      assert.match(await refusal('propose', propose(value, '100')), /PROPOSAL_REFUSED .*by \+50 % or -33 % at most/);
    const { proposal_id, status, voting_end } = await result('propose', propose('150', '100'));
    assert.equal(status, 'voting');
    assert.ok(Math.abs(Date.parse(`${voting_end}Z`) - Date.now() - 7 * 86_400_000) < 60_000);
    assert.match(await refusal('propose', propose('120', '100')), /has an open proposal gov:RATE:/);
    const cast = await result('vote', { proposal_id, vote: 'approve' });
    assert.deepEqual(cast, { proposal_id, vote: 'approve', voter_pubkey: 'standalone' });
    assert.equal((await result('getproposal', { proposal_id })).status, 'passed');
    assert.match(await refusal('vote', { proposal_id, vote: 'reject' }), /is passed: there is nothing/);
    assert.match(await refusal('propose', propose('120', '100')), /current_value of RATE is 150, not 100/);
    assert.match(await refusal('propose', propose('300')), /from 150 by/);

    const rate = (proposed: string, current: string) => ({ ...propose(proposed, current), parameter: 'rate' });
    assert.match(await refusal('propose', rate('300', '150.0')), /from 150 by/, 'another case of the name');
    assert.match(await refusal('propose', rate('1e2', '150')), /as a plain decimal/, 'another form of a number');
    const own = { parameter: 'ORACLE_ROUND_INTERVAL', proposed_value: '6000000' };
    assert.match(await refusal('propose', own), /from 600000 by/, 'what the hub runs with is known');
    assert.match(await refusal('propose', { ...own, current_value: '5000000' }), /is 600000, not 5000000/);
    for (const current of ['0', '0.0', '1.5e2', '1e2', ' 150', '+150', '0x96'])
      assert.match(await refusal('propose', propose('5000', current)), /-32602|PROPOSAL_REFUSED/, current);
    const unknown = { parameter: 'NOBODY_SET_IT', proposed_value: '5', current_value: '0' };
    assert.match(await refusal('propose', unknown), /PROPOSAL_REFUSED/);

    const next = await result('propose', propose('200'));
    await result('vote', { proposal_id: next.proposal_id, vote: 'reject' });
    assert.match(await refusal('propose', propose('200')), /was rejected; it can be proposed again from 20/);
    await sql(
      hub.database,
      "UPDATE governance_proposals SET decided_at = decided_at - 15 * 86400000 WHERE status = 'failed'"
    );
    const last = await result('propose', propose('200'));
    await sql(hub.database, `UPDATE governance_proposals SET voting_end = 5 WHERE proposal_id = '${last.proposal_id}'`);
    assert.equal((await result('getproposal', { proposal_id: last.proposal_id })).status, 'expired');
    assert.deepEqual(await result('getproposals', { status: 'voting' }), []);
    assert.equal((await result('getproposals', { status: 'expired', limit: 1 }))[0].proposal_id, last.proposal_id);
    const open = await result('propose', propose('200'));
    const [newestExpired] = await result('getproposals', { status: 'expired', limit: 1 });
    assert.equal(newestExpired.proposal_id, last.proposal_id, 'the newest proposal is open');
    assert.equal((await result('getproposals', { status: 'voting', limit: 1 }))[0].proposal_id, open.proposal_id);
  });

  test('a round of prices needs a quorum of validators; again it is a duplicate, later generations replace it', async () => {
    await sql(hub.database, "UPDATE validators SET status = 'suspended'");
    assert.deepEqual(await result('pushpriceround', { ...ROUND, round: 50 }), {
      accepted: false,
      reason: 'validator snapshot unavailable'
    });
    const keys = Array.from({ length: 4 }, () => nacl.sign.keyPair());
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    for (const [at, { publicKey }] of keys.entries())
      await result('registervalidator', { signing_pubkey: hex(publicKey), addr: `v${at}.example:1` });
    const pairs = [
      { pair: 'LTC/USD', price: '80' },
      { pair: 'BTC/USD', price: '65000.12345678' }
    ];
    const body = { round: 50, timestamp: 1_700_000_000, btc_block_height: 800_000, pairs: pairs.toReversed() };
    const signed = (count: number) =>
      keys.slice(0, count).map(({ publicKey, secretKey }) => ({
        pubkey: hex(publicKey),
        sig: hex(nacl.sign.detached(Buffer.from(JSON.stringify(body)), secretKey))
      }));
    const round = { ...ROUND, ...body, pairs };
    const short = await result('pushpriceround', { ...round, sigs: [...signed(2), ...signed(2)] });
    assert.deepEqual(short, { accepted: false, reason: 'insufficient signatures' });
    const again = signed(3).map(({ pubkey, sig }) => ({ pubkey, sig: hex(secondForm(Buffer.from(sig, 'hex'))) }));
    const second = await result('pushpriceround', { ...round, sigs: again });
    assert.deepEqual(second, short, 'a second form of a signature is none');
    const foreign = { pubkey: KEY, sig: '0'.repeat(128) };
    const push = (push_generation: number) =>
      result('pushpriceround', { ...round, sigs: [...signed(3), foreign], push_generation });
    assert.deepEqual(await push(1), { accepted: true });
    assert.deepEqual([(await push(1)).reason, (await push(0)).reason], ['duplicate', 'duplicate']);
    assert.deepEqual(await push(2), { accepted: true });
    const price = await result('getprice', { pair: 'BTC/USD' });
    assert.deepEqual([price.price, price.validator_count, price.push_generation], ['65000.12345678', 3, 2]);
    assert.deepEqual(JSON.parse(price.consensus_proof), signed(3), 'what nobody verified is no proof');
    assert.match(await refusal('getprice', { pair: 'DOGE/USD' }), /RECORD_UNKNOWN/);
    assert.match(await refusal('pushpriceround', { ...round, pairs: [{ pair: 'BTC/USD', price: '0.0' }] }), /-32602/);
    for (const again of [pairs[0]!, { pair: 'BTCUSD', price: '1' }, { pair: 'BTC-USD', price: '1' }]) {
      const twice = { ...round, round: 51, pairs: [...pairs, again] };
      for (let times = 0; times < 4; times++)
        assert.deepEqual(await result('pushpriceround', twice), { accepted: false, reason: 'invalid pairs' });
    }
  });

  test('rows that a table does not take say so, and the circuit stays closed', async () => {
    await sql(hub.database, 'DELETE FROM chain_tips', 'ALTER TABLE chain_tips MODIFY coin VARCHAR(2) NOT NULL');
    const tip = { coin: 'bitcoin', network: 'regtest', block_height: 1, block_time: 1 };
    for (let times = 0; times < 12; times++)
      assert.match(await refusal('pushchaintip', tip), /-32602 REQUEST_INVALID .*Data too long for column 'coin'/);
    assert.equal((await result('health')).dbCircuit, 'closed');
    await sql(hub.database, 'ALTER TABLE chain_tips MODIFY coin VARCHAR(16) NOT NULL');
    await result('pushchaintip', tip);
  });

  test('the first price of a feed holds at once, an update a day later', async () => {
    const feed = { ...PRICE, tick: 'NEW' };
    assert.deepEqual(await result('pushoracleprice', { ...feed, action_index: 20 }), { accepted: true });
    assert.deepEqual(await result('pushoracleprice', { ...feed, action_index: 21, value: '2' }), { accepted: true });
    const again = { ...feed, action_index: 21, value: '2' };
    assert.deepEqual(await result('pushoracleprice', again), { accepted: false, reason: 'duplicate', generation: 0 });
    const other = { ...again, value: '3', push_generation: 0 };
    assert.deepEqual(await result('pushoracleprice', other), { accepted: false, reason: 'stale', generation: 0 });
    const found = await sql(
      hub.database,
      "SELECT effective_at - block_time AS delay FROM oracle_prices WHERE tick = 'NEW' ORDER BY id"
    );
    assert.deepEqual(found, [{ delay: 0 }, { delay: 86_400 }]);
  });

  test('rewards are kept once per validator, round and type', async () => {
    const two = { ...REWARDS, round: 2, rewards: [...REWARDS.rewards, { pubkey: HASH('3'), amount: '2' }] };
    assert.deepEqual(await result('pushvalidatorrewards', two), { written: 2, skipped: 0 });
    assert.deepEqual(await result('pushvalidatorrewards', two), { written: 0, skipped: 2 });
  });

  test('REQUEST_INVALID: texts beyond their column and unknown fields are named', async () => {
    const cases: [method: string, params: object, reason: RegExp][] = [
      ['registervalidator', { signing_pubkey: 'f'.repeat(63), addr: 'x:1' }, /params\/signing_pubkey/],
      ['registervalidator', { signing_pubkey: KEY, addr: 'no port' }, /params\/addr/],
      ['registervalidator', { signing_pubkey: KEY, addr: 'x:65536' }, /params\/addr/],
      ['registervalidator', { signing_pubkey: KEY, addr: 'x:1', stake: 5 }, /params\/stake is unknown here/],
      ['syncvalidators', { validators: [], all: true }, /params\/all is unknown here/],
      ['requestattestation', { ...ACTION, source_chain: 'XMR' }, /source_chain must be one of BTC, LTC, DOGE$/],
      ['requestattestation', { ...ACTION, confirmations: 0 }, /params\/confirmations is unknown here/],
      ['initiateswap', { ...ACTION, source_action_index: 0 }, /params\/source_action_index/],
      ['initiateswap', { ...ACTION, amount: 1 }, /params\/amount is unknown here/],
      ['reportreorg', { ...REORG, reorg_height: -1 }, /params\/reorg_height/],
      ['reportreorg', { ...REORG, depth: 2 }, /params\/depth is unknown here/],
      ['pushoracleprice', { ...PRICE, value: '0' }, /params\/value/],
      ['pushoracleprice', { ...PRICE, value: '0.000' }, /params\/value/],
      ['propose', { parameter: 'x'.repeat(256), proposed_value: '1' }, /params\/parameter/],
      ['propose', { parameter: 'X', proposed_value: '1'.repeat(256) }, /params\/proposed_value/],
      ['propose', { parameter: 'X', proposed_value: '' }, /params\/proposed_value/],
      ['propose', { parameter: 'X', proposed_value: '\ud800' }, /proposed_value holds half of a surrogate pair/],
      ['propose', { parameter: 'X', proposed_value: '1', rationale: 'x'.repeat(2_001) }, /params\/rationale/],
      ['propose', { parameter: 'X', proposed_value: '1', quorum: 1 }, /params\/quorum is unknown here/],
      ['vote', { proposal_id: 'x', vote: 'abstain' }, /params\/vote/],
      ['vote', { proposal_id: 'x', vote: 'approve', voter: 'me' }, /params\/voter is unknown here/],
      ['pushchaintip', { coin: 'x'.repeat(17), block_height: 1, block_time: 1 }, /params\/coin/],
      ['pushchaintip', { coin: 'bitcoin', block_height: 1, block_time: Date.now() }, /params\/block_time/],
      ['pushchaintip', { coin: 'bitcoin', block_height: 1, block_time: 1, chain: 'BTC' }, /chain is unknown here/],
      ['reportreorg', { ...REORG, timestamp: REORG.timestamp * 1_000 }, /params\/timestamp/],
      ['pushpriceround', { ...ROUND, epoch: 1 }, /params\/epoch is unknown here/],
      ['pushpriceround', { ...ROUND, pairs: [{ ...ROUND.pairs[0], fiat: 'USD' }] }, /pairs\/0\/fiat is unknown here/],
      ['pushoracleprice', { ...PRICE, effective_at: 1 }, /params\/effective_at is unknown here/],
      ['pushvalidatorrewards', { ...REWARDS, total: '1' }, /params\/total is unknown here/],
      [
        'pushvalidatorrewards',
        { ...REWARDS, rewards: [{ ...REWARDS.rewards[0], chain: 'BTC' }] },
        /rewards\/0\/chain is unknown here/
      ],
      ['pushoracleprice', { ...PRICE, tick: 'x'.repeat(251) }, /params\/tick/],
      ['pushoracleprice', { ...PRICE, memo: '\udfff' }, /memo holds half of a surrogate pair/],
      ['pushvalidatorrewards', { ...REWARDS, reward_type: 'x'.repeat(33) }, /params\/reward_type/]
    ];
    for (const [method, params, reason] of cases) {
      const refused = await refusal(method, params);
      assert.match(refused, /^-32602 REQUEST_INVALID/, method);
      assert.match(refused, reason, method);
    }
  });
});

test('a fee is quoted by the schedule of the profile, in coins while prices are fresh; thresholds are those of the file', async (t) => {
  const directory = temporaryDirectory('fees');
  const [profile, capabilities] = ['profile.json', 'capabilities.json'].map((name) => join(directory, name)) as [
    string,
    string
  ];
  const roles = { 'BTC:mainnet': { GAS: 'issuer' } };
  writeFileSync(
    profile,
    JSON.stringify({ name: 'fees', gasTick: 'FUEL', gas: { issue: 100_000, recipient: 100 }, roles })
  );
  writeFileSync(capabilities, JSON.stringify({ CAPABILITIES: { price: { MIN_STAKE: 1_000 }, attestation: {} } }));
  const hub = await runHub({ PLATFORM_PROFILE: profile, HUB_CAPABILITY_CONFIG: capabilities });
  t.after(hub.stop);
  const quote = async (params: object) => (await hub.call('getfeequote', { chain: 'LTC', ...params })).json;
  const issue = {
    action: 'ISSUE',
    chain: 'LTC',
    gasCost: 100_000,
    gasPrice: '0.00001',
    gasTokenAmount: '1.00000000',
    xchainAmount: '1.00000000'
  };
  assert.deepEqual((await quote({ action: 'Issue' })).result, {
    ...issue,
    gasTokenUsd: null,
    xchainUsd: null,
    error: 'no price of FUEL is known'
  });
  const feed = { ...PRICE, source_chain: 'BTC', coin: 'BTC', tick: 'FUEL', value: '2.5' };
  await hub.call('pushoracleprice', { ...feed, source_address: 'stranger', value: '9', action_index: 1 });
  await hub.call('pushoracleprice', { ...feed, source_address: 'issuer', action_index: 2 });
  await hub.call('pushoracleprice', {
    ...feed,
    source_address: 'issuer',
    value: '7',
    block_time: now(),
    action_index: 3
  });
  assert.deepEqual((await quote({ action: 'ISSUE' })).result, {
    ...issue,
    gasTokenUsd: '2.5',
    xchainUsd: '2.5',
    feeUsd: '2.50000000',
    error: 'no price of LTC is known'
  });
  const round = (number: number, timestamp: number, pair: string, price: number) =>
    sql(
      hub.database,
      `INSERT INTO price_snapshots SET round_number = ${number}, coin_pair = '${pair}', price = ${price}, block_timestamp = ${timestamp}, validator_count = 1, status = 'finalized'`
    );
  await round(1, now() - 3_600, 'LTC/USD', 50);
  assert.equal((await quote({ action: 'ISSUE' })).result.coinUsd, undefined, 'an hour old');
  await round(2, now(), 'LTC/USD', 80);
  assert.deepEqual((await quote({ action: 'ISSUE' })).result, {
    ...issue,
    gasTokenUsd: '2.5',
    xchainUsd: '2.5',
    feeUsd: '2.50000000',
    coinUsd: '80.00000000',
    nativeCoinAmount: '0.03125000',
    nativeCoin: 'LTC'
  });
  await round(2, now(), 'FUEL/USD', 4);
  const drop = (await quote({ action: 'drop', recipients: 30 })).result;
  assert.deepEqual(
    [drop.action, drop.gasCost, drop.gasTokenUsd, drop.nativeCoinAmount],
    ['AIRDROP', 3_000, '4.00000000', '0.00150000']
  );
  assert.match((await quote({ action: 'ISSUES' })).error.message, /unknown action "ISSUES"/);
  const { thresholds } = (await hub.call('getcapabilitythresholds')).json.result;
  assert.deepEqual(thresholds, [
    { capability: 'price', min_stake: '1000', disabled: false },
    ...['cross_chain', 'oracle_publish', 'attestation'].map((capability) => ({
      capability,
      min_stake: null,
      disabled: false
    }))
  ]);
});

test('UNAUTHORIZED: the eight writes need HUB_API_KEY; pushes need it with HUB_PUSH_AUTH; mixed batches are refused whole', async () => {
  const database = await (async () => {
    const open = await runHub({ HUB_API_KEY: 'k' });
    for (const method of WRITES.split(' ')) {
      const { status, json } = await open.call(method);
      assert.deepEqual([status, json.error.code], [401, -32001], method);
      assert.equal((await open.call(method, {}, { 'x-api-key': 'k' })).json.error.code, -32602, method);
    }
    for (const method of PUSHES.split(' ')) assert.equal((await open.call(method)).json.error.code, -32602, method);
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 2, method: 'vote', params: { proposal_id: 'x', vote: 'approve' } }
    ];
    const { status, json } = await open.post(batch);
    assert.deepEqual([status, json.id, json.error.code], [401, null, -32001]);
    await open.stop();
    return open.database;
  })();
  const gated = await runHub({ HUB_API_KEY: 'k', HUB_PUSH_AUTH: 'true' }, { database });
  for (const method of PUSHES.split(' ')) assert.equal((await gated.call(method)).status, 401, method);
  assert.equal((await gated.call('getvalidators')).status, 200);
  await gated.stop();
});
