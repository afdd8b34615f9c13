import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActor } from 'xstate';
import { type CapabilityPhase, capabilityMachine } from '../../../machines/hub/capability.ts';
import { PlatformError } from '../../../src/errors.ts';
import { checkCapabilities } from '../../../src/hub/capability-checks.ts';
import { Capabilities } from '../../../src/hub/federation/node/capabilities.ts';
import { capabilityBodyOf, readCapability } from '../../../src/hub/federation/rounds/operations.ts';
import type { PricesState } from '../../../src/hub/store/asks.ts';

const SET = 'ab'.repeat(32);
const SELF = '01'.repeat(32);
const OTHER = '02'.repeat(32);

test('a hub qualifies by stake and a first self-test, stays qualified without the test, and not without the stake', () => {
  const after = (phase: CapabilityPhase, hasStake: boolean | null, passes: boolean) => {
    const actor = createActor(capabilityMachine, { input: { phase } }).start();
    actor.send({ type: 'hub.checked', hasStake, passes });
    return actor.getSnapshot().value;
  };
  const found = (['unqualified', 'qualified', 'ready', 'disabled'] as const).map((phase) =>
    ([true, false, null] as const).flatMap((hasStake) => [after(phase, hasStake, true), after(phase, hasStake, false)])
  );
  const [un, ok, q] = ['unqualified', 'ready', 'qualified'];
  assert.deepEqual(found, [
    [ok, un, un, un, un, un],
    [ok, q, un, un, ok, q],
    [ok, q, un, un, ok, q],
    Array(6).fill('disabled')
  ]);
});

/** Capabilities of a hub whose log takes what it is told. */
function start(disabled: readonly string[] = []) {
  const sent: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
  const bodies: string[] = [];
  const answers: { readonly resolve: () => void; readonly reject: () => void }[] = [];
  const capabilities = new Capabilities({
    self: SELF,
    set: SET,
    disabled,
    publish: (type, data) => sent.push([type, data]),
    submit: (body) => {
      bodies.push(body);
      return new Promise((resolve, reject) => answers.push({ resolve: () => resolve(1), reject: () => reject(body) }));
    }
  });
  const check = (hasStake: boolean | null, reason: string | null = null) =>
    capabilities.check([{ name: 'price', hasStake, passes: reason === null, reason }], 5);
  const typesOf = () => sent.splice(0).map(([type]) => type.replace('CAPABILITY_', ''));
  return { capabilities, sent, bodies, answers, check, typesOf };
}

test('each test is told, each change is told and written once; what the log did not take is written again', async () => {
  const { capabilities, sent, bodies, answers, check, typesOf } = start();
  check(false);
  assert.deepEqual([typesOf(), bodies], [['SELF_TEST'], []]);
  check(true);
  assert.deepEqual(sent.at(-1), ['CAPABILITY_ACTIVATED', { set: SET, pubkey: SELF, capability: 'price', block_at: 5 }]);
  assert.deepEqual(typesOf(), ['SELF_TEST', 'ACTIVATED']);
  assert.deepEqual(bodies.splice(0).map(readCapability), [{ name: 'price', phase: 'ready', height: 5, reason: null }]);
  check(true);
  assert.deepEqual([typesOf(), bodies], [['SELF_TEST'], []]);
  answers[0]!.reject();
  await Promise.resolve();
  await Promise.resolve();
  check(true);
  assert.equal(bodies.splice(0).length, 1);
  capabilities.note([{ pubkey: SELF, name: 'price', phase: 'ready' }]);
  check(true, 'no source');
  assert.deepEqual(typesOf().slice(-1), ['SELF_TEST']);
  assert.deepEqual(bodies.splice(0).map(readCapability), [
    { name: 'price', phase: 'qualified', height: 5, reason: 'no source' }
  ]);
  check(false);
  assert.deepEqual(typesOf(), ['SELF_TEST', 'DEACTIVATED']);
  assert.equal(readCapability(bodies[0]!)?.phase, 'unqualified');
});

test('a long reason is cut where it can be signed', () => {
  const { sent, bodies, check } = start();
  check(true);
  check(true, `${'x'.repeat(199)}😀`);
  const reasons = [sent.at(-1)![1]['reason'], readCapability(bodies.at(-1)!)?.reason];
  for (const reason of reasons) assert.ok(typeof reason === 'string' && reason.isWellFormed() && reason.length === 200);
});

test('a capability that is not served is told to the log alone', () => {
  const { bodies, check, typesOf } = start(['price']);
  check(true);
  assert.deepEqual([typesOf(), readCapability(bodies[0]!)?.phase], [[], 'disabled']);
});

test('a hub is believed about itself alone, and about its own set', () => {
  const { capabilities } = start();
  const envelope = (data: object, type = 'CAPABILITY_SELF_TEST') =>
    ({
      type,
      id: 'i',
      sender: OTHER,
      timestamp: 0,
      sig: '',
      data: { set: SET, capability: 'price', ...data }
    }) as const;
  assert.equal(capabilities.receive(envelope({ pubkey: SELF, ok: false })), true);
  assert.equal(capabilities.receive(envelope({ pubkey: OTHER, ok: true, set: 'x' })), true);
  assert.equal(capabilities.receive(envelope({ pubkey: OTHER, ok: 'yes' })), true);
  assert.equal(capabilities.receive(envelope({ pubkey: OTHER, ok: true }, 'HEARTBEAT')), false);
  assert.equal(capabilities.receive(envelope({ pubkey: OTHER, ok: true, capability: 'made-up' })), true);
  assert.equal(capabilities.receive(envelope({ pubkey: OTHER, ok: false, reason: 'x'.repeat(1_000_000) })), true);
  assert.deepEqual(capabilities.tests, []);
  capabilities.receive(envelope({ pubkey: OTHER, ok: false, reason: 'why' }));
  assert.deepEqual(capabilities.tests, [{ pubkey: OTHER, capability: 'price', ok: false, reason: 'why' }]);
});

test('a word about a capability has one form', () => {
  const claim = { name: 'price', phase: 'ready', height: 1, reason: null } as const;
  assert.deepEqual(readCapability(capabilityBodyOf(claim)), claim);
  const wrong = [
    { name: 'prices' },
    { phase: 'able' },
    { height: -1 },
    { height: 0.5 },
    { reason: 5 },
    { reason: 'x'.repeat(201) },
    { more: 1 }
  ];
  for (const more of wrong)
    assert.equal(readCapability(JSON.stringify({ capability: { ...claim, ...more } })), null, JSON.stringify(more));
  assert.equal(readCapability(`{"capability":${JSON.stringify(claim)},"config":[]}`), null);
  assert.equal(readCapability('{"capability":'), null);
});

test('stake: enough at its own indexer; none configured qualifies nobody; nobody knows it where the indexer is silent', async () => {
  const kept: PricesState = {
    phase: 'waiting',
    lastError: null,
    answered: 1,
    deviation: 0,
    keptAt: performance.timeOrigin + performance.now(),
    clockOffMs: 0
  };
  let publishing: Parameters<typeof checkCapabilities>[0]['publishing'] = null;
  const warned: string[] = [];
  const look = async (stake: string | null, pricing: PricesState | undefined = kept, up = true) => {
    const facts = {
      stakeOf: async () => (stake === null ? null : { stake, height: 7, source: 'staker' }),
      hasRound: async () => false,
      indexersAnswer: async () => [
        { chain: 'BTC', isUp: true },
        { chain: 'LTC', isUp: up }
      ]
    };
    const minimumStakes = { price: '1000', cross_chain: '5000' };
    const warn = (fault: string) => void warned.push(fault);
    const parts = { minimumStakes, facts, publishing, pricing: () => pricing, roundIntervalMs: 600_000, warn };
    const hub = { pubkey: SELF, ...parts };
    const { checks, height } = await checkCapabilities(hub);
    return { height, of: new Map(checks.map(({ name, ...check }) => [name as string, check])) };
  };
  const enough = await look('1000');
  assert.equal(enough.height, 7);
  assert.deepEqual(enough.of.get('price'), { hasStake: true, passes: true, reason: null });
  assert.deepEqual(enough.of.get('cross_chain'), { hasStake: false, passes: true, reason: null });
  assert.equal(enough.of.get('oracle_publish')!.hasStake, false);
  assert.equal((await look('999.99999999')).of.get('price')!.hasStake, false);
  assert.equal((await look(null)).of.get('price')!.hasStake, null);
  assert.match((await look('1000', undefined, false)).of.get('cross_chain')!.reason!, /LTC/);
  const old = { ...kept, keptAt: kept.keptAt! - 1_300_000 };
  assert.match((await look('1000', old)).of.get('price')!.reason!, /of late/);
  const silent = { ...kept, answered: 0, lastError: 'no source gave a price' };
  assert.equal((await look('1000', silent)).of.get('price')!.reason, 'no source gave a price');
  const publishFault = async () => (await look('1000')).of.get('oracle_publish')!.reason;
  assert.match((await publishFault())!, /names no encoder/);
  publishing = { address: 'staker', test: async () => undefined };
  assert.equal(await publishFault(), null);
  publishing = { ...publishing, address: 'other' };
  assert.match((await publishFault())!, /the stake of this hub is of staker: the ledger takes no prices from other/);
  const reason = 'connect ECONNREFUSED 10.0.0.5:3003';
  publishing = { address: 'staker', test: () => Promise.reject(new PlatformError('PUBLISHING_FAILED', { reason })) };
  assert.match((await publishFault())!, /^its encoder does not answer/, 'all members are told, and whoever asks them');
  assert.deepEqual(warned, [reason]);
});
