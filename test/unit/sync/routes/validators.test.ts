import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireError } from '../../../../src/errors.ts';
import { ValidatorBook } from '../../../../src/sync/fan-out/validators.ts';
import { DECODER, INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const BEAT = { validator_id: 'v1', applied_height: 5 };
type FrontDoor = Awaited<ReturnType<typeof openFrontDoor>>;

const post = (frontDoor: FrontDoor, payload: unknown, path = `indexer/${AT}`) =>
  frontDoor.app.inject({ method: 'POST', url: `/validator-heartbeat/${path}`, payload: payload as object });

test('200: a heartbeat is listed in both forms, with lag clamped at 0', async () => {
  const frontDoor = await openFrontDoor();
  const beat = await post(frontDoor, { ...BEAT, applied_block_time: 1_700_000_000 });
  assert.deepEqual([beat.statusCode, beat.json()], [200, { ok: true }]);
  await post(frontDoor, { validator_id: 'ahead', applied_height: 9, applied_block_time: null });
  await post(frontDoor, { validator_id: '__proto__', applied_height: 0 });
  await post(frontDoor, { validator_id: 'd', applied_height: 7, more: 'is ignored' }, `decoder/${AT}`);

  const { last_updated, ...one } = (await frontDoor.app.inject(`/validator-status/indexer/${AT}`)).json();
  assert.match(last_updated, /^\d{4}-.*Z$/);
  const { v1, ahead } = one.validators;
  const hostile = Object.getOwnPropertyDescriptor(one.validators, '__proto__')?.value;
  assert.ok(Math.abs(Date.parse(v1.last_seen) - Date.now()) < 10_000);
  assert.deepEqual(one, {
    chain: 'bitcoin',
    network: 'regtest',
    dbType: 'indexer',
    validators: Object.fromEntries([
      ['v1', { applied_height: 5, applied_block_time: 1_700_000_000, last_seen: v1.last_seen, lag_blocks: 2 }],
      ['ahead', { applied_height: 9, applied_block_time: null, last_seen: ahead.last_seen, lag_blocks: 0 }],
      ['__proto__', { ...hostile, applied_height: 0, lag_blocks: 7 }]
    ])
  });
  const all = (await frontDoor.app.inject('/validator-status')).json();
  assert.deepEqual(Object.keys(all), ['bitcoin']);
  assert.deepEqual(Object.keys(all.bitcoin.regtest).sort(), ['decoder', 'indexer']);
  assert.deepEqual(Object.keys(all.bitcoin.regtest.decoder), ['validators', 'last_updated']);
  assert.deepEqual(all.bitcoin.regtest.indexer.validators, one.validators);
  assert.equal(all.bitcoin.regtest.decoder.validators.d.lag_blocks, 0);
});

test('200: whatever characters a name has, it is listed under that name', async () => {
  const frontDoor = await openFrontDoor();
  const names = ['two\nlines', '\r', '\u2028', 'quote"', '\0', 'constructor'];
  for (const name of names) assert.equal((await post(frontDoor, { ...BEAT, validator_id: name })).statusCode, 200);
  const { validators } = (await frontDoor.app.inject(`/validator-status/indexer/${AT}`)).json();
  assert.deepEqual(Object.keys(validators), names);
});

test('200: lag_blocks is null while the source has no block; a validator that never spoke is absent', async () => {
  const frontDoor = await openFrontDoor({
    reports: [reportOf(INDEXER, { height: null, blockTime: null, hashes: null })]
  });
  assert.deepEqual((await frontDoor.app.inject(`/validator-status/indexer/${AT}`)).json().validators, {});
  await post(frontDoor, BEAT);
  const { validators } = (await frontDoor.app.inject(`/validator-status/indexer/${AT}`)).json();
  assert.equal(validators.v1.lag_blocks, null);
});

test('400: dbType and each field of a heartbeat; nothing is coerced', async () => {
  const frontDoor = await openFrontDoor();
  const wrong = [
    { applied_height: 5 },
    { validator_id: 'v1' },
    { ...BEAT, validator_id: '' },
    { ...BEAT, validator_id: 'x'.repeat(257) },
    { ...BEAT, validator_id: 7 },
    { ...BEAT, applied_height: '5' },
    { ...BEAT, applied_height: -1 },
    { ...BEAT, applied_height: 1.5 },
    { ...BEAT, applied_height: null },
    { ...BEAT, applied_height: 2 ** 53 },
    { ...BEAT, applied_block_time: '1' },
    { ...BEAT, applied_block_time: true },
    [BEAT],
    []
  ];
  for (const body of wrong) {
    const answer = await post(frontDoor, body);
    assert.equal(answer.statusCode, 400, JSON.stringify(body));
    assert.equal(typeof answer.json().error, 'string');
  }
  assert.equal((await post(frontDoor, BEAT, `nonsense/${AT}`)).statusCode, 400);
  assert.equal((await frontDoor.app.inject(`/validator-status/nonsense/${AT}`)).statusCode, 400);
  for (const edge of [
    { ...BEAT, validator_id: 'é'.repeat(256) },
    { ...BEAT, applied_height: 0 }
  ])
    assert.equal((await post(frontDoor, edge)).statusCode, 200);
});

test('401, 403, 404, 503 on all three routes, in this order before the body is looked at', async () => {
  const routes = async (frontDoor: FrontDoor, path: string, headers = {}) => {
    const url = `/validator-heartbeat/${path}`;
    const answers = [
      await frontDoor.app.inject({ method: 'POST', url, payload: {}, headers }),
      await frontDoor.app.inject({ url: `/validator-status/${path}`, headers }),
      await frontDoor.app.inject({ url: '/validator-status', headers })
    ];
    return answers.map(({ statusCode }) => statusCode);
  };
  const locked = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  assert.deepEqual(await routes(locked, `indexer/${AT}`), [401, 401, 401]);
  const client = await openFrontDoor({ config: { SYNC_MODE: 'client' } });
  assert.deepEqual(await routes(client, `indexer/${AT}`), [403, 403, 403]);
  assert.deepEqual(await routes(client, `nonsense/${AT}`), [400, 400, 403]);
  const frontDoor = await openFrontDoor({ reports: [reportOf(INDEXER)], known: [INDEXER, DECODER] });
  assert.deepEqual(await routes(frontDoor, 'indexer/no/where'), [404, 404, 200]);
  const silent = await post(frontDoor, BEAT, `decoder/${AT}`);
  assert.equal(silent.statusCode, 503);
  assert.ok(silent.headers['retry-after']);
  assert.equal((await frontDoor.app.inject(`/validator-status/decoder/${AT}`)).statusCode, 503);
  const early = await openFrontDoor({ reports: [], discovered: false });
  assert.deepEqual(await routes(early, `indexer/${AT}`), [503, 503, 503]);
});

test('429: more than 120 heartbeats a minute of one address for one database; refused ones do not count', async () => {
  const frontDoor = await openFrontDoor();
  for (let n = 0; n < 5; n++) await post(frontDoor, {});
  for (let n = 0; n < 120; n++) assert.equal((await post(frontDoor, BEAT)).statusCode, 200, `heartbeat ${n + 1}`);
  const refused = await post(frontDoor, BEAT);
  assert.equal(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.ok(refused.headers['ratelimit']);
  assert.equal((await post(frontDoor, BEAT, `decoder/${AT}`)).statusCode, 200, 'another database has its own budget');
  const other = { method: 'POST', url: `/validator-heartbeat/indexer/${AT}`, payload: BEAT } as const;
  assert.equal((await frontDoor.app.inject({ ...other, remoteAddress: '192.0.2.9' })).statusCode, 200);
});

test('an entry is gone when its lifetime is over, and comes back with the next heartbeat', async () => {
  const frontDoor = await openFrontDoor({ config: { VALIDATOR_HEARTBEAT_TTL: 60 } });
  const listed = async () =>
    Object.keys((await frontDoor.app.inject(`/validator-status/indexer/${AT}`)).json().validators).length;
  await post(frontDoor, BEAT);
  assert.equal(await listed(), 1);
  const until = performance.now() + 10_000;
  while ((await listed()) > 0) {
    assert.ok(performance.now() < until, 'evicted in time');
    await sleep(5);
  }
  await post(frontDoor, BEAT);
  assert.equal(await listed(), 1);
});

test('VALIDATORS_FULL: one more than the book holds is refused by name, those listed go on', () => {
  const book = new ValidatorBook(60_000, 2);
  const beat = (name: string, appliedHeight = 1) => book.beat(INDEXER, name, { appliedHeight, appliedBlockTime: null });
  beat('a');
  beat('b');
  assert.throws(
    () => beat('c'),
    (fault: WireError) => fault.code === 'VALIDATORS_FULL' && fault.message.startsWith('2 validators')
  );
  beat('a', 9);
  book.beat(DECODER, 'c', { appliedHeight: 1, appliedBlockTime: null });
  assert.deepEqual(
    book.list(INDEXER).map(([name, { appliedHeight }]) => [name, appliedHeight]),
    [
      ['a', 9],
      ['b', 1]
    ]
  );
  book.close();
  assert.deepEqual(book.list(INDEXER), []);
});

test('addresses share the list, those of VALIDATOR_PUBKEYS have room, and nobody speaks for who has proved its key', () => {
  const book = new ValidatorBook(60_000, 3, ['configured']);
  const beat = (name: string, address: string, appliedHeight = 1, isProven = false) =>
    book.beat(INDEXER, name, { appliedHeight, appliedBlockTime: null }, { address, isProven });
  for (const name of ['a', 'b', 'c']) beat(name, '192.0.2.1');
  assert.throws(() => beat('d', '192.0.2.1'), { code: 'VALIDATORS_FULL' });
  for (const _ of ['a connection', 'one more']) book.proved(INDEXER, 'honest');
  beat('honest', '198.51.100.1', 7, true);
  beat('configured', '192.0.2.1');
  beat('honest', '192.0.2.1', 9);
  const names = book.list(INDEXER).map(([name, { appliedHeight }]) => `${name} ${appliedHeight}`);
  assert.deepEqual(names, ['a 1', 'b 1', 'honest 7', 'configured 1']);
  beat('honest', '198.51.100.1', 8, true);
  const heightOf = () => book.list(INDEXER)[2]?.[1].appliedHeight;
  assert.equal(heightOf(), 8);
  book.left(INDEXER, 'honest');
  beat('honest', '192.0.2.1', 9);
  assert.equal(heightOf(), 8, 'another connection that proved the key is open');
  book.left(INDEXER, 'honest');
  beat('honest', '192.0.2.1', 9);
  assert.equal(heightOf(), 9);
  book.close();
});

test('a long list of validators is written once for all who ask meanwhile', async (t) => {
  const { app } = await openFrontDoor({ config: { VALIDATOR_HEARTBEAT_TTL: 60_000 } });
  const list = t.mock.method(ValidatorBook.prototype, 'list');
  const beat = (n: number) =>
    app.inject({
      method: 'POST',
      url: `/validator-heartbeat/indexer/${AT}`,
      remoteAddress: `192.0.2.${Math.floor(n / 100)}`,
      payload: { ...BEAT, validator_id: `${n}`.padEnd(200, 'x') }
    });
  for (let n = 0; n < 400; n++) assert.equal((await beat(n)).statusCode, 200);
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.inject(`/validator-status/indexer/${AT}`)));
  for (const answer of answers) assert.equal(Object.keys(answer.json().validators).length, 400);
  assert.equal(list.mock.callCount(), 1);
});
