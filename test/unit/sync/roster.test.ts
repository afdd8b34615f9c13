import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { findSyncFaults, findSyncWarnings, syncVariables } from '../../../src/config/services/sync.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { partOf, refuseUnmatched } from '../../../src/sync/chain-settings.ts';
import { excludeDatabases } from '../../../src/sync/exclusions.ts';
import { refuseShared } from '../../../src/sync/follow-roster.ts';
import { Roster } from '../../../src/sync/roster.ts';
import type { DbType } from '../../../src/wire/data/database.ts';

function database(dbType: DbType, chain: string, network = 'mainnet', host = 'db1') {
  return {
    id: { dbType, chain, network },
    coordinates: { host, port: 3306, user: 'u', pass: 'p', name: `n_${chain}` }
  };
}

test('SYNC_EXCLUDE leaves out what it names and tells which entries matched nothing', () => {
  const all = [
    database('indexer', 'dogecoin', 'testnet'),
    database('decoder', 'dogecoin', 'testnet'),
    database('indexer', 'bitcoin')
  ];
  const { kept, unmatched } = excludeDatabases(all, ['DOGE:testnet:indexer', 'DOGE:tesnet:decoder']);
  assert.deepEqual(kept, all.slice(1));
  assert.deepEqual(unmatched, ['DOGE:tesnet:decoder']);
});

const setting = <T>(variable: string, value: T) => {
  const [chain = '', network = ''] = variable.split('_').slice(-2);
  return { variable, chain, network, value };
};
const settings = (depths: string[], modes: string[] = []) => ({
  'SYNC_BOOTSTRAP_DEPTH_<CHAIN>_<NETWORK>': depths.map((name) => setting(`SYNC_BOOTSTRAP_DEPTH_${name}`, 500)),
  'SYNC_SUBSCRIBE_<CHAIN>_<NETWORK>': modes.map((name) =>
    setting(`SYNC_SUBSCRIBE_${name}`, 'infra-only' as 'full' | 'infra-only')
  )
});

test('depth and mode of a replica are found by ticker or full name, in any case; infra-only is for indexers', () => {
  const all = settings(['Doge_MAINNET'], ['DOGECOIN_mainnet']);
  assert.deepEqual(partOf(database('indexer', 'dogecoin').id, all), { bootstrapDepth: 500, infraOnly: true });
  assert.deepEqual(partOf(database('decoder', 'dogecoin').id, all), { bootstrapDepth: 500, infraOnly: false });
  assert.deepEqual(partOf(database('indexer', 'bitcoin').id, all), { bootstrapDepth: null, infraOnly: false });
});

test('CONFIG_INVALID: a depth or a mode that no database matches, named', () => {
  const named = [database('indexer', 'bitcoin')];
  refuseUnmatched(named, settings(['BTC_MAINNET'], ['bitcoin_mainnet']));
  assert.throws(() => refuseUnmatched(named, settings(['BTC_TESTNET', 'BTC_MAINNET'], ['LTC_MAINNET'])), {
    code: 'CONFIG_INVALID',
    policy: 'exit',
    message: /^SYNC_BOOTSTRAP_DEPTH_BTC_TESTNET matches .*\(bitcoin mainnet\)\nSYNC_SUBSCRIBE_LTC_MAINNET matches /
  });
});

test('the roster tells what appeared, moved and went', () => {
  const roster = new Roster();
  assert.equal(roster.discovered, false);
  const first = roster.update([database('indexer', 'bitcoin'), database('indexer', 'litecoin')]);
  assert.equal(first.appeared.length, 2);
  assert.equal(roster.discovered, true);
  const second = roster.update([database('indexer', 'bitcoin', 'mainnet', 'db2'), database('decoder', 'bitcoin')]);
  assert.deepEqual(
    second.moved.map(({ id }) => id.chain),
    ['bitcoin']
  );
  assert.deepEqual(
    second.appeared.map(({ id }) => id.dbType),
    ['decoder']
  );
  assert.deepEqual(
    second.gone.map(({ chain }) => chain),
    ['litecoin']
  );
  assert.equal(roster.find({ dbType: 'indexer', chain: 'bitcoin', network: 'mainnet' })?.coordinates.host, 'db2');
});

test('VERIFY_HASHES with fewer than two sources is warned about: one that is named twice is one', () => {
  const problemOf = (SYNC_SOURCES: string) =>
    findSyncWarnings(
      loadConfig(syncVariables, { env: { SYNC_MODE: 'client', VERIFY_HASHES: 'true', SYNC_SOURCES } }).values
    );
  assert.match(problemOf('http://a:3006,http://a:3006/')[0] ?? '', /^VERIFY_HASHES compares nothing/);
  assert.deepEqual(problemOf('http://a:3006,http://b:3006'), []);
});

test('CONFIG_INVALID: VERIFY_CHECKPOINT_QUORUM without validators or with an infra-only replica, and validators that are none', () => {
  const pinned = { pubkey: 'ab'.repeat(32), weight: 1, source: 'one' };
  const env = {
    SYNC_MODE: 'client',
    HUB_API_HOST: 'hub',
    SYNC_SOURCES: 'http://a:3006',
    REPLICA_DB_HOST: 'db',
    REPLICA_DB_USER: 'u',
    VERIFY_CHECKPOINT_QUORUM: 'true',
    VERIFY_STATE_COMMITMENT: 'false'
  };
  const faults = (more: Record<string, string>): string => {
    try {
      loadConfig(syncVariables, { env: { ...env, ...more }, findFaults: findSyncFaults });
      return '';
    } catch (caught) {
      return String((caught as PlatformError).detail['reason']);
    }
  };
  const withList = (list: unknown) => faults({ PINNED_VALIDATORS: JSON.stringify(list) });
  assert.match(faults({}), /^missing required environment variable PINNED_VALIDATORS: /);
  assert.equal(withList([pinned]), '');
  const more = { PINNED_VALIDATORS: JSON.stringify([pinned]), SYNC_SUBSCRIBE_BTC_MAINNET: 'infra-only' };
  assert.match(faults(more), /^SYNC_SUBSCRIBE_BTC_MAINNET needs VERIFY_CHECKPOINT_QUORUM=false/);
  assert.match(faults({ PINNED_VALIDATORS: '[{' }), /^PINNED_VALIDATORS=.* must be JSON: /);
  for (const bad of [
    {},
    [],
    [1],
    [{ ...pinned, pubkey: 'ab' }],
    [{ ...pinned, weight: 0.5 }],
    [{ ...pinned, source: '' }]
  ])
    assert.match(withList(bad), /^PINNED_VALIDATORS=.* must be a JSON list of /);
  assert.match(withList([pinned, { ...pinned, pubkey: 'AB'.repeat(32) }]), /must name each pubkey once/);
  assert.match(faults({ CHECKPOINT_VERIFY_INTERVAL: '0' }), /^CHECKPOINT_VERIFY_INTERVAL=/);
});

test('DATABASE_SHARED: two chains whose databases have one name on one server, which REPLICA_DB_HOST makes of two', () => {
  const [one, two] = [database('indexer', 'bitcoin'), database('indexer', 'litecoin', 'mainnet', 'db2')];
  const ids = [one.id, two.id, database('decoder', 'bitcoin').id];
  const there = (name: string) => ({ ...one.coordinates, host: 'replicas', name });
  assert.throws(() => refuseShared(one.id, ids, () => there('same')), { code: 'DATABASE_SHARED' });
  refuseShared(one.id, ids, ({ chain }) => there(chain));
  refuseShared(one.id, ids, ({ chain }) => (chain === 'bitcoin' ? one : two).coordinates);
});
