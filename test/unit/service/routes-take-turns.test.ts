import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { createExplorerApp } from '../../../src/explorer/app.ts';
import type { Coin } from '../../../src/explorer/coins.ts';
import { createHubApp } from '../../../src/hub/app.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { PriceStream } from '../../../src/hub/stream/price-stream.ts';
import { createIndexerApp } from '../../../src/indexer/api/app.ts';
import { silentLogger } from '../../../src/log.ts';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';
import { NO_ACTORS } from '../../../src/service/life/no-actors.ts';
import { Turns } from '../../../src/service/turns/turns.ts';
import { createTrackerApp } from '../../../src/tracker/app.ts';
import { monotonicMs } from '../../../src/wire/state/monotonic.ts';
import { definitionOf, FRAME_CONFIG } from '../../support/frame.ts';

const network = chainNetwork('litecoin', 'regtest');
const turn = new AsyncLocalStorage<true>();
/** The route or method that is asked; what nobody asked for is read whenever its service likes. */
const asked = new AsyncLocalStorage<string>();
/** Manner of reading of routes and methods. */
const reads = new Map<string, 'in turn' | 'free'>();
const note = () => {
  const what = asked.getStore();
  if (what) reads.set(what, turn.getStore() && reads.get(what) !== 'free' ? 'in turn' : 'free');
};
/** A part that reads a database or asks an actor, a node or another service. */
const reading = async (): Promise<never> => {
  note();
  throw new Error('nothing is here');
};

const report = {
  lastProcessedBlock: 9,
  lastProcessedHash: 'ab'.repeat(32),
  nodeHeight: 9,
  nodePolledAt: monotonicMs()
};
const chain = {
  ...report,
  state: 'parsing.caughtUp',
  isDatabaseReachable: true,
  progressAt: monotonicMs(),
  failures: 0
};
const more = { rpcErrors: 0, haltReason: null, alarm: null, reorgs: 0, lastReorgDepth: 0, firstSync: null };
const mempool = { knownAt: monotonicMs(), patienceMs: 1e9, size: 0, oddCount: 0, isTooLarge: false };
const common = { ...definitionOf(), actors: NO_ACTORS, serves: (code: string) => code === 'LTC' };

/** Keys of a service; undefined: it has none. */
type Keys = readonly string[] | undefined;
const KEY = 'key-of-the-service';
const ADMIN_KEY = 'key-of-telemetry';

const tracker = (keys?: Keys, findCoins: () => Promise<Uint8Array<ArrayBuffer>> = reading) =>
  createTrackerApp({
    ...common,
    network,
    findCoins,
    findBalance: reading,
    config: { ...FRAME_CONFIG, UTXO_TRACKER_API_KEY: keys, UTXO_TRACKER_RATE_LIMIT_RPM: 10_000 },
    view: () => ({ report: { ...chain, nodePolledAt: monotonicMs(), ...more, mempool } as never, crash: null })
  });

const indexer = (keys?: Keys) =>
  createIndexerApp({
    ...common,
    network,
    profile: DEFAULT_PROFILE,
    findAction: reading,
    findHashes: reading,
    findRound: reading,
    findStakes: reading,
    tryAction: reading,
    config: { ...FRAME_CONFIG, INDEXER_API_KEY: keys, INDEXER_RATE_LIMIT_RPM: 10_000 },
    view: () => ({ report: null, crash: null })
  });

const explorer = (keys?: Keys) => {
  const coin: Coin = {
    network,
    read: reading,
    askIndexer: reading,
    gone: new AbortController().signal,
    report: () => ({ state: 'available' }) as never
  };
  const config = {
    ...FRAME_CONFIG,
    EXPLORER_API_KEY: keys,
    EXPLORER_RATE_LIMIT_RPM: 10_000,
    EXPLORER_CACHE_MB: 1
  };
  return createExplorerApp({ ...common, config, coins: () => [coin], hubAgeS: () => null });
};

const hub = (keys?: Keys) => {
  const ways = ['read', 'readOnce', 'write', 'push', 'survey'].map((way) => [way, reading]);
  const page: HubDatabase['page'] = async () => {
    note();
    return { json: Uint8Array.from(Buffer.from(',{}')), count: 1, lastId: null };
  };
  const database = {
    ...(Object.fromEntries(ways) as unknown as HubDatabase),
    page,
    isReady: () => true,
    probe: async () => true,
    circuit: () => 'closed' as const,
    takesWrites: () => true
  };
  return createHubApp({
    ...common,
    database,
    set: null,
    clockOffMs: () => 0,
    config: {
      ...FRAME_CONFIG,
      HUB_API_KEY: keys,
      HUB_RATE_LIMIT_RPM: 10_000,
      CORS_ORIGIN: undefined,
      HUB_DB_NAME: 'hub',
      HUB_SENSITIVE_READ_AUTH: false,
      HUB_PUSH_AUTH: false,
      HUB_UNTRUSTED_RETENTION_DAYS: 0,
      HUB_HISTORY_RETENTION_DAYS: 0,
      GOV_VOTING_PERIOD: 1_000,
      TELEMETRY_ENABLED: true,
      TELEMETRY_RETENTION_DAYS: 0,
      TELEMETRY_IP_SALT: undefined,
      TELEMETRY_ADMIN_KEY: [ADMIN_KEY],
      PRICE_SOURCES: undefined,
      ORACLE_ROUND_INTERVAL: 600_000,
      ORACLE_STALENESS_THRESHOLD_S: undefined,
      PLATFORM_PROFILE: DEFAULT_PROFILE,
      HUB_CAPABILITY_CONFIG: {}
    },
    stream: new PriceStream(database, silentLogger, { sends: 50, bytes: 1_000_000 }),
    placeOf: () => ({ country: null, region: null })
  });
};

/** Asks every GET route of the service's own document, and every method. */
async function walk(app: FastifyInstance, headers = {}): Promise<void> {
  const { paths } = (await app.inject({ url: '/openapi.json', headers })).json() as { paths: Record<string, object> };
  const { methods } = (await app.inject({ url: '/openrpc.json', headers })).json() as { methods: { name: string }[] };
  const parts: Readonly<Record<string, string>> = { coin: network.code, address: 'script:51' };
  const params = { address: 'script:51', action_index: 1, pubkey: 'ab'.repeat(32) };
  const asks = [
    ...Object.entries(paths)
      .filter(([, ways]) => 'get' in ways)
      .map(
        ([path]) => [path, { url: path.replaceAll(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? '1') }] as const
      ),
    ...methods.map(({ name }) => {
      const payload = { jsonrpc: '2.0', id: 1, method: name, params };
      return [name, { method: 'POST', url: '/', payload }] as const;
    })
  ];
  for (const [what, ask] of asks) await asked.run(what, async () => await app.inject({ ...ask, headers }));
}

/** One read serves all who ask within some time. */
const SHARED = ['/telemetry/summary', '/{coin}/api/feeschedule', '/api/feeschedule'];

/** Counts what callers are charged for. */
function charges(t: TestContext): () => readonly unknown[] {
  const ways = [t.mock.method(WorkBudget.prototype, 'charge'), t.mock.method(WorkBudget.prototype, 'pace')];
  return () => ways.flatMap(({ mock }) => mock.calls.map(({ arguments: [, cost] }) => cost));
}

for (const [name, create, reachesAtLeast] of [
  [
    'tracker',
    tracker,
    ['/utxos/{address}', '/balance/{address}', '/info/{address}', '/firstseen/{address}', 'get_info']
  ],
  ['indexer', indexer, ['getblockhashes', 'getownstake', 'feeschedule', 'getactionconfirmations']],
  ['explorer', explorer, ['/{coin}/api/feeschedule', '/{coin}/api/blocks', '/address/{name}']],
  ['hub', hub, ['getvalidators', 'getallconfigs']]
] as const)
  test(`every route and method of the ${name} that reads a database or asks another program does so in a turn`, async (t) => {
    const take = Turns.prototype.take;
    t.mock.method(
      Turns.prototype,
      'take',
      function (this: Turns, asker: never, work: (aside: never) => Promise<unknown>) {
        return take.call(this, asker, (aside) => turn.run(true, () => work(aside as never)));
      }
    );
    reads.clear();
    const app = create();
    t.after(() => app.close());
    await walk(app);
    const free = [...reads].filter(([what, how]) => how === 'free' && !SHARED.includes(what)).map(([what]) => what);
    assert.deepEqual(free, []);
    for (const what of reachesAtLeast) assert.ok(reads.has(what), `${what} reads nothing here: ${[...reads.keys()]}`);
  });

for (const [name, create] of Object.entries({ tracker, indexer, explorer, hub }))
  test(`a caller with the key of the ${name} owes nothing, whatever it asks`, async (t) => {
    const charged = charges(t);
    const app = create([KEY]);
    t.after(() => app.close());
    await walk(app, { 'x-api-key': KEY });
    assert.deepEqual(charged(), []);
    await app.inject('/livez');
    assert.notDeepEqual(charged(), []);
  });

test('nor does one with TELEMETRY_ADMIN_KEY for the list that asks for it', async (t) => {
  const charged = charges(t);
  const app = hub([KEY]);
  t.after(() => app.close());
  const { statusCode } = await app.inject({ url: '/telemetry/operators', headers: { 'x-api-key': ADMIN_KEY } });
  assert.equal(statusCode, 200);
  assert.deepEqual(charged(), []);
});

test('a batch of 50 get_utxos reads no more pages than its caller takes', async (t) => {
  let pages = 0;
  const page = Buffer.from(JSON.stringify({ utxos: ['x'.repeat(4_000_000)], sync: {} }));
  const app = tracker(undefined, async () => {
    pages++;
    return Uint8Array.from(page);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const call = { jsonrpc: '2.0', id: 1, method: 'get_utxos', params: { address: 'script:51' } };
  const body = JSON.stringify(Array(50).fill(call));
  const socket = connect(port, '127.0.0.1').pause();
  t.after(async () => {
    socket.destroy();
    await app.close();
  });
  socket.write(
    `POST / HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
  const until = performance.now() + 20_000;
  for (let [seen, since] = [-1, performance.now()]; pages === 0 || performance.now() - since < 500; await sleep(20)) {
    if (pages !== seen) [seen, since] = [pages, performance.now()];
    assert.ok(pages < 12 && performance.now() < until, `${pages} pages of 50 are read, and none is taken`);
  }
});
