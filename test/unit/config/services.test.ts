import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { nodeRpcOf } from '../../../src/config/node.ts';
import { placeOf } from '../../../src/config/service.ts';
import { decoderChecks, decoderVariables } from '../../../src/config/services/decoder.ts';
import { encoderVariables } from '../../../src/config/services/encoder.ts';
import { explorerChecks, explorerVariables } from '../../../src/config/services/explorer.ts';
import { hubVariables } from '../../../src/config/services/hub.ts';
import { indexedNetwork, indexerChecks, indexerVariables } from '../../../src/config/services/indexer.ts';
import { minerChecks, minerVariables } from '../../../src/config/services/miner.ts';
import { syncVariables } from '../../../src/config/services/sync.ts';
import { trackerVariables } from '../../../src/config/services/tracker.ts';
import { type ListenPlace, listen } from '../../../src/service/ingress/listen.ts';
import { loadServices } from '../../../src/services.ts';

const INDEXER = {
  INDEXER_COIN: 'DOGE',
  INDEXER_NETWORK: 'testnet',
  DECODER_DB_HOST: 'd.local',
  DECODER_DB_NAME: 'D',
  DECODER_DB_USER: 'du',
  DECODER_DB_PASS: 'dp',
  INDEXER_DB_HOST: 'i.local',
  INDEXER_DB_NAME: 'I',
  INDEXER_DB_USER: 'iu',
  INDEXER_DB_PASS: 'ip'
};
const indexer = (env: Readonly<Record<string, string>>) =>
  loadConfig(indexerVariables, { env, ...indexerChecks }).values;

test('every service has the port of the specification, and hub and explorer every interface', () => {
  const ports = [
    [hubVariables.HUB_PORT, 10_000],
    [explorerVariables.EXPLORER_API_PORT, 8080],
    [explorerVariables.EXPLORER_HTTPS_PORT, 8081],
    [trackerVariables.UTXO_TRACKER_API_PORT, 3001],
    [decoderVariables.DECODER_API_PORT, 3002],
    [encoderVariables.ENCODER_API_PORT, 3003],
    [indexerVariables.INDEXER_API_PORT, 3004],
    [minerVariables.REGTEST_MINER_API_PORT, 3005],
    [syncVariables.SYNC_API_PORT, 3006]
  ] as const;
  for (const [{ fallback, doc }, port] of ports) assert.equal(fallback, port, doc);
  for (const { fallback, doc } of [hubVariables.HUB_HOST, explorerVariables.EXPLORER_API_HOST])
    assert.equal(fallback, '0.0.0.0', doc);
});

test('without a key a service that does more than read for everyone listens on its own machine, unless an address is set', async () => {
  for (const { name, variables, place } of await loadServices()) {
    const isOpen = ['hub', 'explorer', 'sync'].includes(name); // docs: SECURITY.md, Addresses
    assert.equal(variables[place.host]!.fallback, isOpen ? '0.0.0.0' : undefined, name);
    if (isOpen) continue;
    const of = (env: object) =>
      placeOf({ ...env, [place.port]: 1 } as never, place.host.replace(/_API_HOST$/, ''), place.key);
    assert.deepEqual([of({}).host, of({}).isHidden], ['127.0.0.1', true], name);
    assert.deepEqual([of({ [place.key]: ['k'] }).host, of({ [place.host]: '10.0.0.1' }).host], ['0.0.0.0', '10.0.0.1']);
  }
  const hostOf = (env: Record<string, string>) => {
    const needed = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'p' };
    const place = placeOf(loadConfig(encoderVariables, { env: { ...needed, ...env } }).values, 'ENCODER');
    return [place.host, place.isHidden];
  };
  const key = { ENCODER_API_KEY: 'a-key-that-is-long-enough-for-everyone' };
  assert.deepEqual(hostOf({}), ['127.0.0.1', true]);
  assert.deepEqual(hostOf(key), ['0.0.0.0', false]);
  assert.deepEqual(hostOf({ ENCODER_API_HOST: '0.0.0.0' }), ['0.0.0.0', false]);
  assert.deepEqual(hostOf({ ...key, ENCODER_API_HOST: '10.0.0.1' }), ['10.0.0.1', false]);
});

test('a service that is reached from its own machine only says so at its start, and how that is changed', async () => {
  const of = async (isHidden: boolean) => {
    const found: unknown[] = [];
    const app = { listen: async () => '', server: { address: () => null } };
    await listen(app as unknown as Parameters<typeof listen>[0], {
      host: '127.0.0.1',
      port: 3003,
      hasKey: false,
      exposure: 'everybody may do all',
      isHidden,
      variables: { host: 'ENCODER_API_HOST', port: 'ENCODER_API_PORT', key: 'ENCODER_API_KEY' },
      service: 'encoder',
      log: { warn: (text: string) => found.push(text) } as unknown as ListenPlace['log']
    });
    return found;
  };
  assert.deepEqual(await of(true), [
    'ENCODER_API_KEY is not set: encoder is reached from this machine only; set ENCODER_API_HOST=0.0.0.0 to serve others without a key'
  ]);
  assert.deepEqual(await of(false), []);
});

test('CONFIG_INVALID: a miner of a testnet pays nobody without a key', () => {
  const load = (env: Record<string, string>) =>
    loadConfig(minerVariables, { env: { NODE_USER: 'u', NODE_PASSWORD: 'p', ...env }, ...minerChecks });
  assert.throws(() => load({ NETWORK: 'TLTC' }), { message: /MINER_API_KEY: on litecoin-testnet/ });
  assert.ok(load({ NETWORK: 'TLTC', MINER_API_KEY: 'a-key-that-is-long-enough-for-everyone' }));
  assert.ok(load({ NETWORK: 'RLTC' }));
});

test('an explorer is refused before its start what cannot be together, and a proxy that is everybody', () => {
  const side = (name: string) => ({
    [`${name}_DB_HOST`]: 'db',
    [`${name}_DB_NAME`]: name,
    [`${name}_DB_USER`]: 'u',
    [`${name}_DB_PASS`]: 'p'
  });
  const rest = { NETWORK: 'litecoin-regtest', ...side('INDEXER'), ...side('DECODER') };
  const load = (env: Readonly<Record<string, string>>) =>
    loadConfig(explorerVariables, { env: { ...rest, ...env }, ...explorerChecks }).values;
  const tls = { EXPLORER_TLS_CERT: '/c.pem', EXPLORER_TLS_KEY: '/k.pem' };
  assert.ok(load(tls));
  assert.ok(load({ EXPLORER_API_PORT: '8081' }));
  assert.throws(() => load({ EXPLORER_TLS_KEY: '/k.pem' }), { message: /set both of EXPLORER_TLS_CERT/ });
  assert.throws(() => load({ ...tls, EXPLORER_API_PORT: '8081' }), { message: /EXPLORER_HTTPS_PORT 8081 is/ });
  assert.throws(() => load({ DECODER_DB_NAME: 'INDEXER' }), { message: /are both INDEXER/ });
  assert.ok(load({ DECODER_DB_NAME: 'INDEXER', DECODER_DB_HOST: 'other' }));
  for (const everybody of ['0.0.0.0/0', '::/0', '10.0.0.1, 0.0.0.0/00'])
    assert.throws(() => load({ TRUST_PROXY: everybody }), { message: /trusts everybody/ });
});

test('without NODE_PORT a coin node is asked at the usual port of its network', () => {
  const ports = {
    'bitcoin-mainnet': 8332,
    'bitcoin-testnet': 18332,
    'bitcoin-regtest': 18443,
    'litecoin-mainnet': 9332,
    'litecoin-testnet': 19332,
    'litecoin-regtest': 19443,
    'dogecoin-mainnet': 22555,
    'dogecoin-testnet': 44555,
    'dogecoin-regtest': 18332
  };
  const rest = { NODE_USER: 'u', NODE_PASSWORD: 'p', AUX_POW: '1', ...INDEXER };
  for (const [NETWORK, port] of Object.entries(ports)) {
    const { values } = loadConfig(decoderVariables, { env: { NETWORK, ...rest }, ...decoderChecks });
    assert.equal(nodeRpcOf(values).url, `http://127.0.0.1:${port}`, NETWORK);
  }
});

test('INDEXER_COIN and INDEXER_NETWORK name one of nine networks', () => {
  for (const [INDEXER_COIN, chain] of [
    ['BTC', 'bitcoin'],
    ['LTC', 'litecoin'],
    ['DOGE', 'dogecoin']
  ] as const)
    for (const INDEXER_NETWORK of ['mainnet', 'testnet', 'regtest'])
      assert.equal(
        indexedNetwork(indexer({ ...INDEXER, INDEXER_COIN, INDEXER_NETWORK })).name,
        `${chain}-${INDEXER_NETWORK}`
      );
  assert.throws(() => indexer({ ...INDEXER, INDEXER_COIN: 'XMR' }), { message: /INDEXER_COIN="XMR" must be one of/ });
  assert.throws(() => indexer({ ...INDEXER, INDEXER_NETWORK: 'signet' }), { message: /INDEXER_NETWORK="signet" must/ });
  const same = { ...INDEXER, INDEXER_DB_HOST: 'd.local', INDEXER_DB_NAME: 'D' };
  assert.throws(() => indexer(same), { message: /INDEXER_DB_NAME and DECODER_DB_NAME are both D/ });
  assert.ok(indexer({ ...same, INDEXER_DB_PORT: '3307' }));
});

test('UTXO_TRACKER_URL is a host or a URL with its path; what is not used is refused by name', () => {
  const { parse } = encoderVariables.UTXO_TRACKER_URL;
  assert.equal(parse('tracker.local'), 'http://tracker.local');
  assert.equal(parse('tracker.local:3001/'), 'http://tracker.local:3001');
  assert.equal(parse('https://tracker.local/utxo/RLTC/'), 'https://tracker.local/utxo/RLTC');
  assert.throws(() => parse('http://u:p@tracker.local'), /no user and no password/);
  assert.throws(() => parse('http://tracker.local/?a=1'), /no \? and no #/);
  for (const wrong of ['ftp://tracker.local', 'http://', 'a b']) assert.throws(() => parse(wrong), /must be a host/);
});

test('an indexer takes a profile with fees, which it charges', () => {
  const directory = mkdtempSync(join(tmpdir(), 'profile-'));
  try {
    const load = (gas: object, more: object = {}, env: Readonly<Record<string, string>> = { INDEXER_COIN: 'BTC' }) => {
      const path = join(directory, 'profile.json');
      writeFileSync(path, JSON.stringify({ name: 'own', gas, ...more }));
      return indexer({ ...INDEXER, ...env, PLATFORM_PROFILE: path }).PLATFORM_PROFILE;
    };
    assert.equal(load({ recipient: 100 }).gas.recipient, 100);
    assert.throws(() => load({ recipient: -1 }), /PLATFORM_PROFILE=.* must be a profile; \/gas\/recipient/);
    const dogecoin = { INDEXER_COIN: 'DOGE' };
    const prices = { PRICES_DB_HOST: 'p', PRICES_DB_NAME: 'P', PRICES_DB_USER: 'u', PRICES_DB_PASS: 'p' };
    assert.throws(
      () => load({ recipient: 1 }, {}, { ...dogecoin, ...prices }),
      /nobody can pay it on dogecoin-testnet: .*FEE_DESTINATION/
    );
    const roles = { 'dogecoin-testnet': { FEE_DESTINATION: 'D' } };
    assert.throws(
      () => load({ recipient: 1 }, { roles }, dogecoin),
      /missing required environment variable PRICES_DB_HOST: the profile own charges gas on dogecoin-testnet.*\n.*PRICES_DB_NAME/
    );
    assert.equal(load({ recipient: 1 }, { roles }, { ...dogecoin, ...prices }).gas.recipient, 1);
    assert.equal(load({ recipient: 1 }, { gasPrice: '0' }, dogecoin).name, 'own', 'gas that costs nothing');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the indexer looks for a block every 5 s and gives one 5 minutes', () => {
  const { INDEXER_POLL_INTERVAL, INDEXER_BLOCK_TIMEOUT } = indexer(INDEXER);
  assert.deepEqual([INDEXER_POLL_INTERVAL, INDEXER_BLOCK_TIMEOUT], [5_000, 300_000]);
});

test('the indexer reads DECODER_DB_*, writes INDEXER_DB_*, and listens on INDEXER_API_PORT', () => {
  const values = indexer({ ...INDEXER, DECODER_DB_PORT: '3307', INDEXER_API_PORT: '3999' });
  assert.deepEqual([values.DECODER_DB_HOST, values.DECODER_DB_PORT, values.DECODER_DB_NAME], ['d.local', 3307, 'D']);
  assert.deepEqual([values.DECODER_DB_USER, values.DECODER_DB_PASS], ['du', 'dp']);
  assert.deepEqual([values.INDEXER_DB_HOST, values.INDEXER_DB_PORT, values.INDEXER_DB_NAME], ['i.local', 3306, 'I']);
  assert.deepEqual([values.INDEXER_DB_USER, values.INDEXER_DB_PASS], ['iu', 'ip']);
  assert.equal(values.INDEXER_API_PORT, 3999);
  for (const name of Object.keys(INDEXER) as (keyof typeof INDEXER)[]) {
    const { [name]: _, ...env } = INDEXER;
    assert.throws(() => indexer(env), { message: new RegExp(`missing required environment variable ${name}:`) });
  }
});
