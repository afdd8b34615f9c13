import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hubsOf } from '../../../src/config/hub-client.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { decoderVariables } from '../../../src/config/services/decoder.ts';
import { hubVariables } from '../../../src/config/services/hub.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { setIdOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { findValidatorFaults, findValidatorWarnings, hubSetOf } from '../../../src/hub/validator-settings.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const DATABASE = {
  HUB_DB_HOST: '127.0.0.1',
  HUB_DB_PORT: '3306',
  HUB_DB_NAME: 'Platform_Hub',
  HUB_DB_USER: 'hub',
  HUB_DB_PASS: 'hub'
};

test('defaults of a hub are as specified', () => {
  const { values } = loadConfig(hubVariables, { env: DATABASE });
  assert.deepEqual([values.HUB_HOST, values.HUB_PORT, values.HUB_RATE_LIMIT_RPM], ['0.0.0.0', 10_000, 100]);
  assert.deepEqual([values.GOV_VOTING_PERIOD, values.PRICE_FETCH_TIMEOUT], [7 * 86_400_000, 10_000]);
  assert.deepEqual([values.TELEMETRY_ENABLED, values.TELEMETRY_RETENTION_DAYS], [true, 90]);
  assert.equal(values.WS_BACKPRESSURE_LIMIT, 50);
});

test("its database's address and account must be set", () => {
  for (const name of Object.keys(DATABASE)) {
    const { [name]: _, ...env } = DATABASE as Record<string, string>;
    assert.throws(() => loadConfig(hubVariables, { env }), { message: new RegExp(`variable ${name}:`) }, name);
  }
});

test('hubs are those of HUB_VALIDATORS in their order, else HUB_API_HOST at HUB_PORT', () => {
  const hubs = (env: Record<string, string>) => {
    const required = {
      NETWORK: 'RLTC',
      NODE_USER: 'u',
      NODE_PASSWORD: 'p',
      DECODER_DB_HOST: 'h',
      DECODER_DB_NAME: 'd'
    };
    const account = { DECODER_DB_USER: 'u', DECODER_DB_PASS: 'p' };
    return hubsOf(loadConfig(decoderVariables, { env: { ...required, ...account, ...env } }).values);
  };
  const [b, a] = [
    { host: 'b', port: 2 },
    { host: 'a', port: 1 }
  ];
  assert.deepEqual(hubs({ HUB_VALIDATORS: 'b:2, a:1', HUB_API_HOST: 'c' }), [b, a]);
  assert.deepEqual(hubs({ HUB_API_HOST: 'c' }), [{ host: 'c', port: 10_000 }]);
  assert.deepEqual(hubs({ HUB_API_HOST: 'c', HUB_PORT: '7' }), [{ host: 'c', port: 7 }]);
  assert.deepEqual(hubs({}), []);
  for (const HUB_VALIDATORS of ['a', 'a:70000', 'http://a:1', 'a:1;b:2'])
    assert.throws(() => hubs({ HUB_VALIDATORS }), { message: /HUB_VALIDATORS=.* must be host:port entries/ });
});

test('CONFIG_INVALID: what only validator mode uses is checked all the same, and what is set in vain is named', () => {
  const wrong = {
    SIGNING_PRIVKEY_HEX: 'zz',
    P2P_PORT: '70000',
    SEED_NODES: 'a:1,b',
    ORACLE_EPOCH_START: 'soon',
    ORACLE_MIN_SUBMISSIONS: '0',
    DISABLED_CAPABILITIES: 'price,prices',
    P2P_RECONNECT_BASE: '-1',
    P2P_RECONNECT_MAX: '1e5'
  };
  for (const [name, value] of Object.entries(wrong))
    assert.throws(() => loadConfig(hubVariables, { env: { ...DATABASE, [name]: value } }), {
      message: new RegExp(name)
    });
  const seed = 'ab'.repeat(32);
  const { values } = loadConfig(hubVariables, {
    env: { ...DATABASE, SIGNING_PRIVKEY_HEX: seed, SEED_NODES: 'a:1, b:2' }
  });
  assert.deepEqual(
    findValidatorWarnings(values).map((line) => line.split(' ')[0]),
    ['SIGNING_PRIVKEY_HEX', 'SEED_NODES']
  );
  const near = {
    SIGNING_PRIVKEY_HEXX: seed,
    GOV_VOTING_PERIODS: '1',
    TELEMETRY_RETENTION_DAY: '1',
    ORACLE_MIN_SOURCE: '1'
  };
  const { warnings } = loadConfig(hubVariables, { env: { ...DATABASE, ...near }, prefixes: ['HUB_'] });
  assert.equal(warnings.length, Object.keys(near).length, warnings.join('\n'));
});

const SEEDS = ['01', '02', '03', '04', '05'].map((digits) => digits.repeat(32));
const MEMBERS = SEEDS.map((seed, at) => ({ pubkey: signingKey(seed).pubkey, addr: `h${at}:10001` }));
const VALIDATOR = {
  ...DATABASE,
  P2P_VALIDATOR_ADDR: 'h0:10001',
  SIGNING_PRIVKEY_HEX: SEEDS[0]!,
  ORACLE_EPOCH_START: '1'
};

/** Loads settings with a file of a set. */
function load(federation: unknown, env: Readonly<Record<string, string>> = VALIDATOR) {
  const path = join(temporaryDirectory('federation'), 'federation.json');
  writeFileSync(path, JSON.stringify(federation));
  return loadConfig(hubVariables, { env: { ...env, HUB_FEDERATION: path } }).values;
}

test('CONFIG_INVALID: a file of a set names each member once, with a key and an address, and nothing else', () => {
  const [first, second] = MEMBERS as [(typeof MEMBERS)[0], (typeof MEMBERS)[0]];
  const wrong = [
    [],
    {},
    { members: [] },
    { members: MEMBERS, quorum: 'all' },
    { members: MEMBERS, seeds: [] },
    { members: [null] },
    { members: [first, { ...second, weight: 2 }] },
    { members: [{ ...first, addr: 'h' }] },
    { members: [{ ...first, pubkey: `01${'00'.repeat(31)}` }] },
    { members: [first, { ...second, pubkey: first.pubkey.toUpperCase() }] },
    { members: [first, { ...second, addr: `ws://${first.addr}` }] },
    { members: Array.from({ length: 65 }, () => first) }
  ];
  for (const federation of wrong)
    assert.throws(() => load(federation), { message: /HUB_FEDERATION/ }, JSON.stringify(federation));
  for (const log of [0, 1.5, '2']) assert.throws(() => load({ members: [first, second], log }), { message: /its log/ });
  assert.equal(load({ members: [first, second], log: 2 }).HUB_FEDERATION!.log, 2);
  const { HUB_FEDERATION } = load({ members: [first, { ...second, addr: 'wss://[::1]:7' }], quorum: 'byzantine' });
  assert.deepEqual(HUB_FEDERATION, {
    members: [
      { ...first, addr: 'ws://h0:10001' },
      { ...second, addr: 'wss://[::1]:7' }
    ],
    quorum: 'byzantine'
  });
});

test('CONFIG_INVALID: validator mode needs its key, the first round, and a set that has the key', () => {
  const faults = (env: Record<string, string>, members = MEMBERS) => findValidatorFaults(load({ members }, env)).join();
  assert.equal(faults(VALIDATOR), '');
  assert.match(
    faults({ ...DATABASE, P2P_VALIDATOR_ADDR: 'h0:1' }),
    /needs SIGNING_PRIVKEY_HEX.*needs ORACLE_EPOCH_START/
  );
  assert.match(faults(VALIDATOR, MEMBERS.slice(1)), new RegExp(`no member with the key ${MEMBERS[0]!.pubkey}`));
  const { values } = loadConfig(hubVariables, { env: { ...VALIDATOR, SEED_NODES: 'h1:1' } });
  assert.match(findValidatorFaults(values).join(), /HUB_FEDERATION must name the set/);
});

test('hubs of other times of rounds and votings are of another set', () => {
  const of = (env: Record<string, string> = {}, members = 4) =>
    hubSetOf(load({ members: MEMBERS.slice(0, members) }, { ...VALIDATOR, ...env }))!;
  const rounds = { epochStartMs: 1, intervalMs: 600_000, windowMs: 180_000, minSubmissions: 3 };
  assert.deepEqual(of().rounds, rounds);
  assert.equal(of({}, 3).rounds!.minSubmissions, 1);
  const changed = { ORACLE_EPOCH_START: '2', ORACLE_ROUND_INTERVAL: '500000', ORACLE_MIN_SUBMISSIONS: '2' };
  const more = { ORACLE_SUBMISSION_WINDOW: '170000', GOV_VOTING_PERIOD: '1000' };
  const others = Object.entries({ ...changed, ...more }).map(([name, value]) => setIdOf(of({ [name]: value })));
  assert.equal(new Set([setIdOf(of()), ...others]).size, 6);
  const faults = (env: Record<string, string>) =>
    findValidatorFaults(load({ members: MEMBERS }, { ...VALIDATOR, ...env })).join();
  assert.match(faults({ ORACLE_MIN_SUBMISSIONS: '6' }), /ORACLE_MIN_SUBMISSIONS=6 is more than the members/);
  assert.match(faults({ ORACLE_SUBMISSION_WINDOW: '360001' }), /ORACLE_SUBMISSION_WINDOW=360001 leaves too little/);
  assert.equal(faults({ ORACLE_MIN_SUBMISSIONS: '5', ORACLE_SUBMISSION_WINDOW: '360000' }), '');
});

test('a set that one lying hub can split is warned about, and none that it cannot', () => {
  const warnings = (members: number, quorum?: string) =>
    findValidatorWarnings(load({ members: MEMBERS.slice(0, members), quorum })).filter((line) => /lying/.test(line))
      .length;
  assert.deepEqual([warnings(4), warnings(5), warnings(5, 'byzantine'), warnings(5, 'specified')], [0, 1, 0, 1]);
});

test('CONFIG_INVALID: services of a hub of its own are named by chain, and no password is shown', () => {
  const read = (env: Readonly<Record<string, string>>) => loadConfig(hubVariables, { env: { ...DATABASE, ...env } });
  const named = 'BTC=http://127.0.0.1:3004/, LTC=https://indexer.example/ltc';
  const { CAPABILITY_INDEXERS, CAPABILITY_NODES } = read({
    CAPABILITY_INDEXERS: named,
    CAPABILITY_NODES: 'BTC=http://user:p%40ss@127.0.0.1:8332'
  }).values;
  assert.deepEqual(CAPABILITY_INDEXERS, [
    { chain: 'BTC', url: 'http://127.0.0.1:3004', user: '', password: '' },
    { chain: 'LTC', url: 'https://indexer.example/ltc', user: '', password: '' }
  ]);
  assert.deepEqual(CAPABILITY_NODES, [{ chain: 'BTC', url: 'http://127.0.0.1:8332', user: 'user', password: 'p@ss' }]);
  for (const wrong of ['http://127.0.0.1', 'btc=http://a', 'XRP=http://a', 'BTC=ftp://u:hunter2@a', 'BTC=http://a?b'])
    for (const name of ['CAPABILITY_INDEXERS', 'CAPABILITY_NODES'])
      assert.throws(
        () => read({ [name]: wrong }),
        ({ message }: Error) => message.includes(name) && !message.includes('hunter2')
      );
});

test('a hub of a set without an indexer of its own is warned: members could name the one that tells its stake', () => {
  const warnings = (env: Record<string, string> = {}) =>
    findValidatorWarnings(load({ members: MEMBERS.slice(0, 4) }, { ...VALIDATOR, ...env })).join();
  assert.match(warnings(), /CAPABILITY_INDEXERS names no indexer of BTC/);
  assert.match(warnings({ CAPABILITY_INDEXERS: 'LTC=http://a' }), /CAPABILITY_INDEXERS names no indexer of BTC/);
  assert.equal(warnings({ CAPABILITY_INDEXERS: 'BTC=http://a' }), '');
});
