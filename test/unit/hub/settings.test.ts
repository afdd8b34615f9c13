import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAIN_NETWORKS, chainNetwork } from '../../../src/coin/chains.ts';
import { nodeNetworkFromHub } from '../../../src/config/node.ts';
import { decoderVariables } from '../../../src/config/services/decoder.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { createHubClient } from '../../../src/hub/client.ts';
import { ANY_NETWORK, fetchSettings, pickSettings } from '../../../src/hub/settings.ts';
import { buildTree, type ConfigTree } from '../../../src/hub/store/config-tree.ts';
import fc from '../../support/fast-check.ts';

const RLTC = chainNetwork('litecoin', 'regtest');
const PLACES = Object.fromEntries(
  Object.entries(decoderVariables).flatMap(([name, { hub }]) =>
    hub?.service === 'decoder' ? [[name, hub] as const] : []
  )
);
const entries = (coin: string, network: string, module: string, params: Readonly<Record<string, string>>) =>
  Object.entries(params).map(([param, value]) => ({ coin, network, module, param, value }));
const DATABASE = { db_host: 'db', db_port: '3307', name: 'D', user: 'u', pass: ' p ', service_port: '13002' };

test('a module is found by its suffix and its network, however the hub spells both', () => {
  for (const [coin, network] of [
    ['litecoin', 'regtest'],
    ['LTC', 'Regtest'],
    ['RLTC', 'regtest']
  ] as const) {
    const tree = buildTree([
      ...entries('litecoin', 'mainnet', 'x-decoder', { ...DATABASE, name: 'other' }),
      ...entries(coin, network, 'any-prefix-decoder', DATABASE),
      ...entries(coin, network, 'any-prefix-indexer', { ...DATABASE, name: 'other' }),
      ...entries(coin, network, 'decoder', { ...DATABASE, name: 'other' })
    ]);
    assert.deepEqual(pickSettings(tree, RLTC, PLACES), {
      texts: {
        DECODER_DB_HOST: 'db',
        DECODER_DB_PORT: '3307',
        DECODER_DB_NAME: 'D',
        DECODER_DB_USER: 'u',
        DECODER_DB_PASS: ' p ',
        DECODER_API_PORT: '13002'
      },
      problems: []
    });
  }
});

test('an account of the service that reads goes before that of all readers; a module that is misspelt is named', () => {
  const own = { ...DATABASE, user_decoder: 'd', pass_decoder: 'dp', user_indexer: 'i', pass_indexer: 'ip' };
  const { texts } = pickSettings(buildTree(entries('litecoin', 'regtest', 'x-decoder', own)), RLTC, PLACES);
  assert.deepEqual([texts['DECODER_DB_USER'], texts['DECODER_DB_PASS']], ['d', 'dp']);
  const { problems } = pickSettings(buildTree(entries('litecoin', 'regtest', 'x-decodr', own)), RLTC, PLACES);
  assert.deepEqual(problems, [
    'the hub names no module <prefix>-decoder of litecoin-regtest; its module x-decodr may be misspelt'
  ]);
});

test('a parameter that needs another one beside it counts only with that one', () => {
  const places = { URL: { service: 'utxo-tracker', params: ['host'], beside: 'db_host' } };
  const textsOf = (params: Readonly<Record<string, string>>) =>
    pickSettings(buildTree(entries('litecoin', 'regtest', 'a-utxo-tracker', params)), RLTC, places).texts;
  assert.deepEqual(textsOf({ host: 'tracker', db_host: 'db' }), { URL: 'tracker' });
  assert.deepEqual(textsOf({ host: 'db' }), {});
});

test("the hub's settings for a service of several networks are those that its modules agree on", async () => {
  const ask = async (...ports: string[]) => {
    const networks = ['mainnet', 'testnet', 'regtest'];
    const tree = buildTree(
      ports.flatMap((service_port, at) => entries('litecoin', networks[at]!, 'x-explorer', { service_port }))
    );
    return await fetchSettings({
      hub: { fetchConfigs: async () => tree },
      network: ANY_NETWORK,
      needed: [],
      maxWaitMs: 0,
      places: { EXPLORER_API_PORT: { service: 'explorer', params: ['service_port'] } },
      warn: () => undefined
    });
  };
  assert.deepEqual(await ask('18080'), { texts: { EXPLORER_API_PORT: '18080' }, problems: [] });
  assert.deepEqual((await ask('18080', '18080')).texts, { EXPLORER_API_PORT: '18080' });
  assert.deepEqual(await ask('18080', '18081'), {
    texts: {},
    problems: ['modules <prefix>-explorer of the hub differ in EXPLORER_API_PORT: set it, or none of them counts']
  });
  assert.deepEqual(await ask(), { texts: {}, problems: [] });
});

test('a module says something by being there; where it is nowhere, what is missing is told once', async () => {
  const ask = (tree: ConfigTree) =>
    fetchSettings({
      hub: { fetchConfigs: async () => tree },
      network: ANY_NETWORK,
      needed: ['SYNC_MODE'],
      maxWaitMs: 0,
      places: { SYNC_MODE: { service: 'indexer', params: [], present: 'server' } },
      warn: () => undefined
    });
  const two = ['mainnet', 'regtest'].flatMap((network) => entries('litecoin', network, 'x-indexer', DATABASE));
  assert.deepEqual(await ask(buildTree(two)), { texts: { SYNC_MODE: 'server' }, problems: [] });
  assert.deepEqual(await ask(buildTree(entries('litecoin', 'mainnet', 'x-decoder', DATABASE))), {
    texts: {},
    problems: ['the hub names no module <prefix>-indexer of any network']
  });
});

test('host and port stand in for db_host and db_port; an empty text is none', () => {
  const params = { db_host: '', host: 'api', port: '1', name: '', pass: 'p' };
  const { texts } = pickSettings(buildTree(entries('litecoin', 'regtest', 'a-decoder', params)), RLTC, PLACES);
  assert.deepEqual(texts, { DECODER_DB_HOST: 'api', DECODER_DB_PORT: '1', DECODER_DB_PASS: 'p' });
});

test('a missing module and a second one are told', () => {
  assert.deepEqual(pickSettings(buildTree([]), RLTC, PLACES), {
    texts: {},
    problems: ['the hub names no module <prefix>-decoder of litecoin-regtest']
  });
  const twice = ['a-decoder', 'b-decoder'].flatMap((module) => entries('litecoin', 'regtest', module, DATABASE));
  assert.deepEqual(pickSettings(buildTree(twice), RLTC, PLACES).problems, [
    'the hub names 2 modules <prefix>-decoder of litecoin-regtest: a-decoder counts'
  ]);
});

test('a missing module is told where something is needed of it', () => {
  assert.deepEqual(pickSettings(buildTree([]), RLTC, PLACES, []).problems, []);
  const needed = pickSettings(buildTree([]), RLTC, PLACES, ['DECODER_DB_HOST']);
  assert.match(needed.problems.join(), /no module <prefix>-decoder of litecoin-regtest/);
});

test('the network is the one of which the hub names a module of the service; of several none', async () => {
  const decoders = (...networks: [coin: string, network: string][]) =>
    buildTree([
      ...networks.flatMap(([coin, network]) => entries(coin, network, 'a-decoder', DATABASE)),
      ...entries('dogecoin', 'mainnet', 'a-indexer', DATABASE),
      ...entries('monero', 'mainnet', 'a-decoder', DATABASE)
    ]);
  const ask = (tree: ConfigTree, maxWaitMs = 0) =>
    fetchSettings({
      hub: { fetchConfigs: async () => tree },
      network: nodeNetworkFromHub('decoder'),
      places: PLACES,
      needed: ['NETWORK', 'DECODER_DB_HOST'],
      maxWaitMs,
      warn: assert.fail
    });
  const { texts, problems } = await ask(decoders(['LTC', 'regtest']));
  assert.deepEqual([texts['NETWORK'], texts['DECODER_DB_HOST'], problems], ['litecoin-regtest', 'db', []]);
  const reason = 'the hub names modules <prefix>-decoder of bitcoin-mainnet, litecoin-regtest';
  const two = await ask(decoders(['RLTC', 'regtest'], ['bitcoin', 'mainnet']), 60_000); // it is not asked again
  assert.deepEqual([two.texts, two.problems], [{}, [reason]]);
  assert.deepEqual(await ask(decoders()), { texts: {}, problems: ['the hub names no module <prefix>-decoder'] });
});

test('a text that would not fit one line is left out, and told by its variable', () => {
  const params = { ...DATABASE, pass: 'p\u001b[2J', name: 'n'.repeat(1025) };
  const { texts, problems } = pickSettings(buildTree(entries('LTC', 'regtest', 'a-decoder', params)), RLTC, PLACES);
  assert.deepEqual(
    [texts['DECODER_DB_PASS'], texts['DECODER_DB_NAME'], texts['DECODER_DB_HOST']],
    [undefined, undefined, 'db']
  );
  assert.deepEqual(
    problems.map((problem) => /DECODER_DB_\w+/.exec(problem)?.[0]),
    ['DECODER_DB_NAME', 'DECODER_DB_PASS']
  );
});

test('property: a service is told nothing of another network or another service', () => {
  const params = fc.record({ db_host: fc.string(), pass: fc.string(), service_port: fc.string() });
  const other = CHAIN_NETWORKS.filter(({ name }) => name !== RLTC.name);
  const modules = fc.array(
    fc.tuple(fc.constantFrom(...CHAIN_NETWORKS), fc.constantFrom('decoder', 'hub', 'x'), params)
  );
  fc.assert(
    fc.property(modules, (named) => {
      const foreign = named.filter(([network, service]) => other.includes(network) || service !== 'decoder');
      const tree = buildTree(
        foreign.flatMap(([{ chain, network }, service, values]) => entries(chain, network, `p-${service}`, values))
      );
      assert.deepEqual(pickSettings(tree, RLTC, PLACES).texts, {});
    })
  );
});

test('HUB_UNREACHABLE: a hub that does not answer is asked again for so long, and no longer', async () => {
  const hosts = [{ host: '127.0.0.1', port: await freePort() }];
  const lines: string[] = [];
  const ask = (maxWaitMs: number) =>
    fetchSettings({
      hub: createHubClient({ hosts, timeoutMs: 1_000 }),
      network: RLTC,
      places: PLACES,
      needed: ['DECODER_DB_HOST'],
      maxWaitMs,
      warn: (line) => lines.push(line)
    });
  await assert.rejects(ask(0), { code: 'HUB_UNREACHABLE' });
  assert.deepEqual(lines, []);
  const begin = performance.now();
  await assert.rejects(ask(1_500), { code: 'HUB_UNREACHABLE' });
  assert.ok(performance.now() - begin < 5_000);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /127\.0\.0\.1:\d+ .*; needed: DECODER_DB_HOST; asking again for [12] s$/);
});
