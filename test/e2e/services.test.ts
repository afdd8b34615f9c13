import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { PlatformView } from '../../src/service/platform/platform-view.ts';
import type { OpenRpc } from '../../src/service/rpc/openrpc.ts';
import type { OpenApi } from '../../src/service/schema/openapi.ts';
import type { Pipeline } from '../../src/wire/state/pipeline.ts';
import { openBrowser } from '../support/browser.ts';
import { runCommandLine } from '../support/command-line.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { call, KEY, ORIGIN, type RunningService, SERVICE_ROWS, startPlatform } from '../support/services.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

const WITH_KEY = { 'x-api-key': KEY };
const JSON_BODY = { 'content-type': 'application/json' };
/** The bound of a body without the key. */
const OPEN_BODY_BYTES = 100_000;
const BATCH_LIMITS: Readonly<Record<string, number>> = { miner: 20 };

const browser = await openBrowser();
const { services, collector } = await startPlatform();
const serviceOf = (wanted: string) => services.find(({ name }) => name === wanted)!;

/** Opens a page of a service's console, gives it the key, and waits for what it shows. */
async function look({ url, console }: RunningService, hash: string, selector: string): Promise<void> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', (fault) => faults.push(fault.message));
  await page.goto(url + console + hash);
  await page.fill('#key', KEY);
  await page.click('form button');
  await page.waitForSelector(selector, { state: 'attached', timeout: PATIENCE_MS });
  assert.deepEqual(faults, []);
  await page.close();
}

/** Answers that the callers of a service got until it listened no more. */
interface Answers {
  readonly statuses: ReadonlySet<number>;
  /** Refusals without a Retry-After header, and answers that ended before their end. */
  readonly faults: readonly string[];
}

/** Asks a service from sixteen callers at once, again and again, until it listens no more. Each request has a limit of its own. */
function askUntilGone({ name, url, hasMethods }: RunningService) {
  const busy = Promise.withResolvers<void>();
  const statuses = new Set<number>();
  const faults: string[] = [];
  let count = 0;
  const path = hasMethods ? '/' : name === 'explorer' ? '/RLTC/api/blocks' : '/status';
  const post = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'health' }) };
  const request = () => {
    const client = `198.51.${++count >> 8}.${count & 255}`;
    const headers = { ...WITH_KEY, ...JSON_BODY, 'x-forwarded-for': client };
    return fetch(url + path, { ...(hasMethods && post), headers }).catch(() => undefined); // it listens no more
  };
  const ask = async () => {
    for (let answer = await request(); answer; answer = await request()) {
      const { status, headers } = answer;
      statuses.add(status);
      if (status !== 200 && !headers.has('retry-after')) faults.push(`${status} without Retry-After`);
      await answer.json().catch((fault: unknown) => faults.push(`${status} with half an answer: ${fault}`));
      if (count >= 64) busy.resolve();
    }
    busy.resolve();
  };
  const answers = Promise.all(Array.from({ length: 16 }, ask)).then((): Answers => ({ statuses, faults }));
  return { isBusy: busy.promise, answers };
}

/** Ends a service while callers ask it: it answers what has come, or refuses with Retry-After, and its exit code is 0. */
async function endUnderLoad(service: RunningService): Promise<void> {
  const asked = askUntilGone(service);
  await asked.isBusy;
  const exit = once(service.child, 'exit');
  service.child.kill('SIGTERM');
  assert.equal((await exit)[0], 0, service.name);
  const { statuses, faults } = await asked.answers;
  assert.deepEqual([[...statuses], faults], [[200], []], service.name);
}

interface Live {
  readonly service: string;
  readonly platform: PlatformView;
  readonly pipeline: Pipeline;
  readonly databases: readonly { readonly generation: number; readonly state: string; readonly report: object }[];
}

for (const service of services) {
  const { name, command, url, port, prefix, env, console, hasMethods } = service;
  const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, { method: 'POST', headers: { ...JSON_BODY, ...headers }, body: JSON.stringify(body) });

  describe(`${name}, as an operator starts it`, () => {
    test('probes, page and descriptions are open; all else of an operator needs the key, by either header', async () => {
      const open = ['/livez', '/readyz', console, '/openapi.json', '/docs', ...(hasMethods ? ['/openrpc.json'] : [])];
      for (const path of open) assert.equal((await get(path)).status, 200, path);
      for (const path of ['/metrics', '/debug/actors', '/debug/live']) {
        assert.equal((await get(path)).status, 401, path);
        assert.equal((await get(path, { 'x-api-key': `${KEY}.` })).status, 401, path);
        for (const headers of [WITH_KEY, { authorization: `Bearer ${KEY}` }])
          assert.equal((await get(path, headers)).status, 200, path);
      }
    });

    test('TRUST_PROXY: each caller behind the proxy has a limit of its own, which the RateLimit header tells', async () => {
      const left = async (client: string) => {
        const answer = await get('/debug/live', { ...WITH_KEY, 'x-forwarded-for': client });
        const [, remaining] = /^"debug-live";r=(\d+);t=\d+$/.exec(answer.headers.get('ratelimit') ?? '') ?? [];
        assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"debug-live";q=\d+;w=60$/);
        return Number(remaining);
      };
      const first = await left('192.0.2.1');
      assert.equal(await left('192.0.2.1'), first - 1);
      assert.equal(await left('192.0.2.2'), first);
    });

    test('CORS_ORIGINS: the origin may read, and another one may not', async () => {
      const allowed = async (origin: string) =>
        (await get('/readyz', { origin })).headers.get('access-control-allow-origin');
      assert.equal(await allowed(ORIGIN), ORIGIN);
      assert.equal(await allowed('https://other.example'), null);
    });

    test('its metrics are its own, and count the requests', async () => {
      const text = await (await get('/metrics', WITH_KEY)).text();
      const counted = `^${name}_http_request_seconds_count\\{route="/readyz",method="GET",status="200"\\} \\d`;
      assert.match(text, new RegExp(counted, 'm'));
      const foreign = SERVICE_ROWS.filter((row) => row.name !== name && text.includes(`\n${row.name}_http_`));
      assert.deepEqual(foreign, []);
    });

    test('its OpenAPI document has its title, and each route one of its tags', async () => {
      const document = (await (await get('/openapi.json', WITH_KEY)).json()) as OpenApi;
      assert.match(document.openapi, /^3\.1\./);
      assert.match(document.info.title, new RegExp(`^platform-node ${name}`));
      const tags = new Set(document.tags.map((tag) => tag.name));
      for (const [path, operations] of Object.entries(document.paths))
        for (const operation of Object.values(operations))
          assert.ok(operation.tags.length === 1 && tags.has(operation.tags[0]!), path);
      const own = hasMethods ? ['/', '/{coin}/', '/openrpc.json'] : [];
      for (const path of ['/livez', '/readyz', '/metrics', '/debug/live', ...own])
        assert.ok(document.paths[path], path);
    });

    test('its console shows the way of the blocks, and itself in it', async () => {
      const live = (await (await get('/debug/live', WITH_KEY)).json()) as Live;
      assert.equal(live.service, name);
      const { nodes, edges } = live.pipeline;
      assert.ok(edges.length > 0);
      for (const { from, to } of edges)
        assert.ok(
          [from, to].every((end) => nodes.some(({ id }) => id === end)),
          `${from} to ${to}`
        );
      await look(service, '', '.lane .node[data-state="well"]');
    });

    test('its requests are traced, and no probe of it', async () => {
      await get('/openapi.json', WITH_KEY);
      if (hasMethods) await call(service, 'ping');
      const spans = () => collector.spans.filter((span) => span.service.startsWith(`platform-node ${name}`));
      const wanted = ['GET /openapi.json', ...(hasMethods ? ['POST /'] : [])];
      for (const request of wanted)
        await eventually(`${request} is traced`, async () => spans().some((span) => span.name === request));
      assert.deepEqual(
        spans().filter((span) => /livez|readyz/.test(span.name)),
        []
      );
    });

    test('PORT_IN_USE: a second one names the variable of the port, and ends with 71', async () => {
      const own = name === 'sync' ? { SYNC_STATE_DIR: temporaryDirectory('second') } : {};
      const { code, stderr, stdout } = await runCommandLine([command, '--no-guardian'], { ...env, ...own });
      assert.equal(code, 71, stderr + stdout);
      assert.match(stderr + stdout, new RegExp(`${prefix}_PORT=${port}: another process listens on 127.0.0.1:${port}`));
    });

    test('--check-config shows each value with its origin, and no key', async () => {
      const { code, stdout } = await runCommandLine([command, '--check-config'], env);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^${prefix}_PORT +. ${port} {2}\\(environment\\)$`, 'm'));
      assert.match(stdout, /^SHUTDOWN_GRACE_MS +. 10000 {2}\(default\)$/m);
      assert.match(stdout, /_API_KEY +. \*{8} {2}\(environment\)$/m);
      assert.ok(!stdout.includes(KEY));
    });

    test('status finds it by its settings: alive, and every part of it', async () => {
      const [live, whole] = await Promise.all([
        runCommandLine(['status', '--live', '--service', command], env),
        runCommandLine(['status', '--service', command], env)
      ]);
      assert.equal(live.code, 0, live.stderr);
      assert.equal(whole.code, 0, whole.stderr + whole.stdout);
      if (name !== 'sync') assert.match(whole.stdout, new RegExp(`^${name} \\S+ is ready\\npart`));
    });

    if (!hasMethods) return;

    test('POST / and POST /{COIN}/ answer calls and batches, with the RateLimit headers; another COIN is 404', async () => {
      const calls = ['ping', 'health'].map((method, id) => ({ jsonrpc: '2.0', id, method }));
      for (const path of ['/', '/RLTC/', '/rltc']) {
        const answer = await post(path, calls);
        const replies = (await answer.json()) as { id: number; result: { status: string } }[];
        assert.deepEqual(
          replies.map(({ id, result }) => [id, result.status]),
          [
            [0, 'success'],
            [1, 'healthy']
          ]
        );
        assert.match(answer.headers.get('ratelimit') ?? '', /^"rpc";r=\d+;t=\d+$/);
      }
      assert.equal((await post('/XYZ/', calls)).status, 404);
    });

    test('rpc.discover is /openrpc.json: OpenRPC 1.3.2 with each method, its parameters and its result', async () => {
      const document = (await (await get('/openrpc.json')).json()) as OpenRpc;
      assert.deepEqual((await call(service, 'rpc.discover'))['result'], document);
      assert.equal(document.openrpc, '1.3.2');
      const names = document.methods.map((method) => method.name);
      for (const method of ['ping', 'health']) assert.ok(names.includes(method), method);
      for (const method of document.methods) assert.ok(method.summary && method.result, method.name);
    });

    test('a wrong call is told what is wrong with it, in error.data too', async () => {
      const unknown = (await call(service, 'no_such_method'))['error'] as { code: number };
      assert.equal(unknown.code, -32601);
      const document = (await (await get('/openrpc.json')).json()) as OpenRpc;
      const method = document.methods.find(({ params }) => params.some(({ required }) => required));
      if (!method) return assert.equal(name, 'decoder'); // its methods have no parameters
      const refused = (await call(service, method.name))['error'] as { code: number; data: Record<string, string> };
      assert.equal(refused.code, -32602);
      assert.equal(refused.data['code'], 'REQUEST_INVALID');
      assert.ok(refused.data['reason']);
    });

    test('the bounds of a batch and of a body hold', async () => {
      const most = BATCH_LIMITS[name] ?? 50;
      const batch = (size: number) => Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
      assert.equal(((await (await post('/', batch(most))).json()) as unknown[]).length, most);
      const { error } = (await (await post('/', batch(most + 1))).json()) as { error: { code: number } };
      assert.equal(error.code, -32600);
      const large = { jsonrpc: '2.0', id: 1, method: 'ping', params: { text: 'x'.repeat(OPEN_BODY_BYTES) } };
      assert.equal((await post('/', large)).status, 413);
      assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 415);
    });
  });
}

test('the port of a service is taken from the hub where nothing else names it, and --check-config says so', async () => {
  const hub = serviceOf('hub');
  const asked = services.filter(({ module }) => module !== undefined);
  const modules = Object.fromEntries(
    asked.map(({ module }, at) => [`platform-${module}`, { host: '127.0.0.1', service_port: 13_000 + at }])
  );
  await call(hub, 'updateconfig', { config: { LTC: { testnet: modules } } });
  for (const [at, { name, command, prefix, env }] of asked.entries()) {
    const { [`${prefix}_PORT`]: _, ...rest } = env;
    const network = name === 'indexer' ? { INDEXER_NETWORK: 'testnet' } : { NETWORK: 'litecoin-testnet' };
    const atHub = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port), HUB_API_KEY: KEY };
    const { stdout, stderr } = await runCommandLine([command, '--check-config'], { ...rest, ...network, ...atHub });
    assert.match(stdout, new RegExp(`^${prefix}_PORT +. ${13_000 + at} {2}\\(hub\\)$`, 'm'), name + stderr);
  }
});

test('CONSOLE_SERVICES: every console lists the whole platform, and shows the way of blocks through it', async () => {
  const lookAt = async ({ url }: RunningService) =>
    ((await (await fetch(`${url}/debug/live`, { headers: WITH_KEY })).json()) as Live).platform;
  const way = ['coin node', 'decoder', 'indexer', 'sync server'];
  const all = [...way, 'explorer', 'tracker', 'encoder', 'miner', 'hub'];
  for (const service of services) {
    const isWhole = async () => {
      const { rows, pipeline } = await lookAt(service);
      const heights = new Set(pipeline.nodes.map(({ height }) => height));
      const isWell = (role: string) => rows.some((row) => row.service === role && row.state === 'well');
      return all.every(isWell) && heights.size === 1;
    };
    await eventually(`${service.name} lists all`, isWhole);
    const { pipeline, rows } = await lookAt(service);
    assert.deepEqual(
      pipeline.nodes.map(({ role, lane }) => [role, lane]),
      way.map((role) => [role, 'litecoin/regtest'])
    );
    assert.deepEqual([...new Set(rows.map((row) => row.service))], all);
    await look(service, '', 'table[aria-label="Services of the platform"] td >> text=sync server');
  }
});

test('the console of a hub shows its database; of a decoder its chart', async () => {
  await look(serviceOf('hub'), '', 'text=serves the configuration');
  const atWork = '.state.active[data-state="parsing.caughtUp"]';
  await look(serviceOf('decoder'), '#/actor/decoder/litecoin/regtest', atWork);
});

test('the console shows the circuit breaker of each database of an actor', async () => {
  const breakers = { explorer: ['indexer', 'decoder'], indexer: ['indexer', 'decoder'] } as const;
  for (const [name, databases] of Object.entries(breakers))
    for (const database of databases) {
      const caption = `figcaption >> text=circuitBreaker (${database}): closed`;
      await look(serviceOf(name), `#/actor/${name}/litecoin/regtest`, caption);
    }
});

test('an explorer passes fees and preflight on to the indexer of its network, and says what it has against a question', async () => {
  const { url } = serviceOf('explorer');
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}/RLTC/api/${path}`, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const indexer = serviceOf('indexer');
  const resultOf = async (method: string, params: object) => (await call(indexer, method, params))['result'];
  assert.deepEqual(await ask('feeschedule'), { status: 200, body: await resultOf('feeschedule', {}) });
  const send = { action: 'SEND', params: '0|TOK|1|somebody', source: 'nobody' };
  const quote = await ask(`feequote?${new URLSearchParams(send)}`);
  assert.deepEqual(quote, { status: 200, body: await resultOf('feequote', send) });
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(send) };
  const preflight = await ask('preflight', post);
  assert.deepEqual(preflight, await ask(`preflight?${new URLSearchParams(send)}`));
  assert.match(String(preflight.body['status']), /^invalid: /);
  const oracle = { oracleAddress: 'nobody', giveTick: 'TOK', fiatCode: 'USD', blockTime: '1700000000' };
  const owed = await ask(`oraclefeequote?${new URLSearchParams(oracle)}`);
  assert.deepEqual([owed.status, owed.body['valid'], owed.body['blockTime']], [200, false, 1_700_000_000]);
  for (const [path, code] of [
    ['feequote', 'BAD_REQUEST'],
    ['oraclefeequote?oracleAddress=nobody', 'BAD_REQUEST'],
    ['preflight?action=SEND&feeMode=cash', 'BAD_REQUEST']
  ] as const)
    assert.deepEqual([(await ask(path)).status, (await ask(path)).body['code']], [400, code], path);
});

test('an operator of a decoder ends its actor, and sees it come back', async () => {
  const { url } = serviceOf('decoder');
  const live = async () => (await (await fetch(`${url}/debug/live`, { headers: WITH_KEY })).json()) as Live;
  const before = (await live()).databases[0]!;
  const act = (headers: Record<string, string>) =>
    fetch(`${url}/debug/actors/decoder/litecoin/regtest/kill`, { method: 'POST', headers });
  assert.equal((await act({})).status, 401);
  assert.equal((await act(WITH_KEY)).status, 202);
  await eventually('it runs again', async () => {
    const [now] = (await live()).databases;
    return now!.generation > before.generation && now!.state === 'running';
  });
});

test('SIGTERM under load ends a decoder like any other; the explorer shows that it does not answer', async () => {
  const row = async () => {
    const answer = await fetch(`${serviceOf('explorer').url}/debug/live`, { headers: WITH_KEY });
    return ((await answer.json()) as Live).platform.rows.find((each) => each.service === 'decoder');
  };
  await eventually('the explorer shows the decoder', async () => (await row())?.state === 'well');
  await endUnderLoad(serviceOf('decoder'));
  await eventually('the explorer shows that the decoder is gone', async () => {
    const shown = await row();
    return shown?.state === 'failed' && shown.doing === 'does not answer' && shown.reason !== null;
  });
});

test('SIGTERM under load: each service answers all that has come, breaks no answer, and ends with 0', async () => {
  for (const service of services.filter(({ name }) => name !== 'decoder')) await endUnderLoad(service);
});
