import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { freePort } from '../../src/devnet/free-port.ts';
import type { OpenApi } from '../../src/service/openapi.ts';
import type { OpenRpc } from '../../src/service/rpc/openrpc.ts';
import { openBrowser } from '../support/browser.ts';
import { runCommandLine } from '../support/command-line.ts';
import { startTestLitecoind } from '../support/litecoin.ts';
import { createDatabase } from '../support/mariadb.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { eventually } from '../support/sync/sync-process.ts';

const KEY = 'key-of-a-service';
const WITH_KEY = { 'x-api-key': KEY };
const PATIENCE_MS = 30_000;

/** A service as an operator starts it. */
interface Running {
  readonly name: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly child: ChildProcess;
}

async function start(name: string, port: number, env: Readonly<Record<string, string>>): Promise<Running> {
  const { child } = startServiceProcess(name, env);
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false
    );
  await eventually(`${name} is ready`, PATIENCE_MS, isReady);
  return { name, url, env, child };
}

async function startHub(): Promise<Running> {
  const [{ host, port, name, user, pass }, own] = [await createDatabase('services_hub'), await freePort()];
  return start('hub', own, {
    ...{ HUB_HOST: '127.0.0.1', HUB_PORT: String(own), HUB_API_KEY: KEY },
    ...{ HUB_DB_HOST: host, HUB_DB_PORT: String(port), HUB_DB_NAME: name, HUB_DB_USER: user, HUB_DB_PASS: pass }
  });
}

async function startDecoder(): Promise<Running> {
  const { node } = await startTestLitecoind();
  await node.mine(3);
  const [{ host, port, name, user, pass }, own] = [await createDatabase('services_decoder'), await freePort()];
  return start('decoder', own, {
    ...{ NETWORK: 'litecoin-regtest', NODE_URL: '127.0.0.1', NODE_PORT: String(node.rpcPort) },
    ...{ NODE_USER: node.user, NODE_PASSWORD: node.password, DECODER_POLL_INTERVAL: '50' },
    ...{ DECODER_API_HOST: '127.0.0.1', DECODER_API_PORT: String(own), DECODER_API_KEY: KEY },
    ...{ DECODER_DB_HOST: host, DECODER_DB_PORT: String(port), DECODER_DB_NAME: name },
    ...{ DECODER_DB_USER: user, DECODER_DB_PASS: pass }
  });
}

const browser = await openBrowser();
const [hub, decoder] = await Promise.all([startHub(), startDecoder()]);

/** Opens the console of a service, gives it the key, and waits for what it shows. */
async function look(url: string, hash: string, selector: string): Promise<void> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', (fault) => faults.push(fault.message));
  await page.goto(`${url}/${hash}`);
  await page.fill('#key', KEY);
  await page.click('form button');
  await page.waitForSelector(selector, { state: 'attached', timeout: PATIENCE_MS });
  assert.deepEqual(faults, []);
  await page.close();
}

for (const service of [hub, decoder]) {
  const { name, url, env } = service;
  const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });

  describe(`${name}, as an operator starts it`, () => {
    test('probes, page and methods are open; metrics, debug routes and documents need the key, by either header', async () => {
      for (const path of ['/', '/livez', '/readyz', '/openrpc.json']) assert.equal((await get(path)).status, 200, path);
      for (const path of ['/metrics', '/debug/actors', '/debug/live', '/openapi.json', '/docs']) {
        assert.equal((await get(path)).status, 401, path);
        for (const headers of [WITH_KEY, { authorization: `Bearer ${KEY}` }])
          assert.equal((await get(path, headers)).status, 200, path);
      }
    });

    test('metrics are its own, and count the requests', async () => {
      const text = await (await get('/metrics', WITH_KEY)).text();
      assert.match(
        text,
        new RegExp(`^${name}_http_request_seconds_count\\{route="/readyz",method="GET",status="200"\\} \\d`, 'm')
      );
      assert.doesNotMatch(text, /^sync_/m);
    });

    test('its documents name it and its routes, and a batch is answered with the RateLimit headers', async () => {
      const openApi = (await (await get('/openapi.json', WITH_KEY)).json()) as OpenApi;
      assert.equal(openApi.info.title, `platform-node ${name}`);
      for (const path of ['/', '/{coin}/', '/openrpc.json', '/metrics', '/readyz', '/debug/live'])
        assert.ok(openApi.paths[path], path);
      const openRpc = (await (await get('/openrpc.json')).json()) as OpenRpc;
      assert.ok(openRpc.methods.some((method) => method.name === 'health'));
      const calls = ['ping', 'health'].map((method, id) => ({ jsonrpc: '2.0', id, method }));
      const body = JSON.stringify(calls);
      const headers = { 'content-type': 'application/json' };
      for (const path of ['/', '/RLTC/', '/RLTC']) {
        const answer = await fetch(url + path, { method: 'POST', body, headers });
        assert.deepEqual(
          ((await answer.json()) as { id: number; result: { status: string } }[]).map(({ id, result }) => [
            id,
            result.status
          ]),
          [
            [0, 'success'],
            [1, 'healthy']
          ]
        );
        assert.match(answer.headers.get('ratelimit') ?? '', /^"rpc";r=\d+;t=\d+$/);
      }
      assert.equal((await fetch(`${url}/XYZ/`, { method: 'POST', body, headers })).status, 404);
    });

    test('status knows where it is, and how it is', async () => {
      const [live, whole, settings] = await Promise.all([
        runCommandLine(['status', '--live', '--service', name], env),
        runCommandLine(['status', '--service', name], env),
        runCommandLine([name, '--check-config'], env)
      ]);
      assert.equal(live.code, 0, live.stderr);
      assert.equal(whole.code, 0, whole.stderr);
      assert.match(whole.stdout, new RegExp(`^${name} \\S+ is ready\\npart`));
      assert.match(whole.stdout, new RegExp(`^${name} +${name} +well`, 'm'));
      assert.match(settings.stdout, /_API_KEY += \*{8} {2}\(environment\)$/m);
      assert.match(settings.stdout, /^SHUTDOWN_GRACE_MS += 10000 {2}\(default\)$/m);
    });
  });
}

test('the console of a hub shows its database; of a decoder its way of blocks and its chart', async () => {
  await look(hub.url, '', 'text=serves the configuration');
  await look(decoder.url, '', 'text=decoder/litecoin/regtest');
  await look(decoder.url, '#/actor/decoder/litecoin/regtest', '.state.active[data-state="parsing.caughtUp"]');
});

test('an operator of a decoder ends its actor, and sees it come back', async () => {
  const live = async () => {
    const answer = await fetch(`${decoder.url}/debug/live`, { headers: WITH_KEY });
    return (await answer.json()) as { databases: { generation: number; state: string; report: { height: number } }[] };
  };
  const before = (await live()).databases[0]!;
  assert.equal(before.report.height, 3);
  const act = (headers: Record<string, string>) =>
    fetch(`${decoder.url}/debug/actors/decoder/litecoin/regtest/kill`, { method: 'POST', headers });
  assert.equal((await act({})).status, 401);
  assert.equal((await act(WITH_KEY)).status, 202);
  await eventually('it runs again', PATIENCE_MS, async () => {
    const [now] = (await live()).databases;
    return now!.generation > before.generation && now!.state === 'running';
  });
});

test('SIGTERM ends each with 0', async () => {
  for (const { child } of [hub, decoder]) {
    child.kill('SIGTERM');
    assert.equal((await once(child, 'exit'))[0], 0);
  }
});
