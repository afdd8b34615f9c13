import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode } from '../../../src/errors.ts';
import { discoverDatabases } from '../../../src/hub/client.ts';
import { entriesOf, mergeTrees, readConfigAnswer } from '../../../src/hub/store/config-tree.ts';
import fc from '../../support/fast-check.ts';

const PARAMS = {
  db_host: 'db1',
  db_port: '3307',
  host: 'api',
  port: '3004',
  name: 'Platform_BTC_Mainnet_Indexer',
  user: 'u',
  pass: 'p'
};
const discover = (configs: unknown) => discoverDatabases(readConfigAnswer({ configs, seq: 0, watermark: 0 }).configs);

test('a module is known by its suffix, whatever the prefix; db_host and db_port go before host and port', () => {
  const { db_host: _, db_port: __, ...short } = PARAMS;
  const { databases, problems } = discover({
    bitcoin: {
      mainnet: { 'any-prefix-indexer': PARAMS, 'x-decoder': { ...short, port: 3306 }, 'x-explorer': {}, indexer: {} }
    }
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(databases, [
    {
      id: { dbType: 'indexer', chain: 'bitcoin', network: 'mainnet' },
      coordinates: { host: 'db1', port: 3307, user: 'u', pass: 'p', name: PARAMS.name }
    },
    {
      id: { dbType: 'decoder', chain: 'bitcoin', network: 'mainnet' },
      coordinates: { host: 'api', port: 3306, user: 'u', pass: 'p', name: PARAMS.name }
    }
  ]);
});

test('the sync service takes its own account where a module has one', () => {
  const { databases } = discover({
    bitcoin: { mainnet: { 'x-indexer': { ...PARAMS, user_sync: 's', pass_sync: 'sp', user_indexer: 'i' } } }
  });
  const { user, pass } = databases[0]!.coordinates;
  assert.deepEqual([user, pass], ['s', 'sp']);
});

test('an entry that cannot be used is a problem with its place and reason', () => {
  const cases: [params: object, problem: RegExp][] = [
    [{ ...PARAMS, name: '', pass: null }, /^bitcoin\/mainnet\/x-indexer: missing name, pass$/],
    [{ ...PARAMS, name: 'a`; DROP' }, /name must be/],
    [{ ...PARAMS, db_port: '70000' }, /port must be/],
    [{ ...PARAMS, db_port: '3306x' }, /port must be/],
    [{ service_port: '1' }, /missing db_host or host, db_port or port, name, user, pass$/]
  ];
  for (const [params, problem] of cases) {
    const found = discover({ bitcoin: { mainnet: { 'x-indexer': params } } });
    assert.deepEqual(found.databases, []);
    assert.match(found.problems[0] ?? '', problem);
  }
  const evil = discover({ '../etc\n': { mainnet: { 'x-indexer': PARAMS } } });
  assert.match(evil.problems[0] ?? '', /^\.\.\/etc\\n\/mainnet/);
  const twice = discover({ bitcoin: { mainnet: { 'a-indexer': PARAMS, 'b-indexer': PARAMS } } });
  assert.deepEqual([twice.databases.length, twice.problems.length], [1, 1]);
  const spelled = discover({
    bitcoin: { mainnet: { 'a-indexer': PARAMS } },
    BTC: { Mainnet: { 'a-indexer': PARAMS } }
  });
  assert.deepEqual(spelled.problems, ['BTC/Mainnet/a-indexer: another module names indexer/bitcoin/mainnet already']);
});

test('HUB_UNREACHABLE: a configuration that is no tree, named by its place', () => {
  for (const configs of [
    7,
    [],
    'x',
    { bitcoin: 1 },
    { bitcoin: { mainnet: [] } },
    { bitcoin: { mainnet: { m: null } } }
  ]) {
    assert.throws(() => discover(configs), { code: 'HUB_UNREACHABLE' });
  }
  assert.throws(() => discover({ bitcoin: { mainnet: 'x' } }), /"bitcoin\/mainnet" is no object/);
});

test('any JSON gives a discovery or a PlatformError, and no prototype changes', () => {
  const name = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'prototype', 'x-indexer', 'name', 'polluted'),
    fc.string()
  );
  const level = (values: fc.Arbitrary<unknown>) =>
    fc
      .array(fc.tuple(name, values), { maxLength: 4 })
      .map((pairs) =>
        JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`)
      );
  const tree = level(level(level(level(fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))))));
  const envelope = fc.record({ configs: tree, watermark: fc.jsonValue() });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), tree, envelope), fc.oneof(fc.jsonValue(), tree, envelope), (first, second) => {
      try {
        const merged = mergeTrees(readConfigAnswer(first).configs, readConfigAnswer(second).configs);
        discoverDatabases(merged);
        for (const { value } of entriesOf(merged)) assert.equal(typeof value, 'string');
      } catch (caught) {
        assert.ok(hasCode(caught, 'HUB_UNREACHABLE'), String(caught));
      }
      assert.deepEqual([Object.keys(Object.prototype), ({} as Record<string, unknown>)['polluted']], [[], undefined]);
    }),
    { numRuns: 500 }
  );
});

test('merging is what the newer tree says, and of the rest the older one', () => {
  const level = (values: fc.Arbitrary<unknown>) =>
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), values, { maxKeys: 3 });
  const trees = level(level(level(level(fc.string())))).map((tree) => readConfigAnswer({ configs: tree }).configs);
  fc.assert(
    fc.property(trees, trees, (base, newer) => {
      const flat = (tree: typeof base) =>
        [...entriesOf(tree)].map(({ value, ...path }) => [JSON.stringify(path), value] as const);
      assert.deepEqual(new Map(flat(mergeTrees(base, newer))), new Map([...flat(base), ...flat(newer)]));
    })
  );
});
