import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { changePreference } from '../../src/telemetry/preference.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { alternate, type Figure, median, p99, report } from './support/figures.ts';
import { chooseParts } from './support/parts.ts';
import { cpuMs, Helper } from './support/processes/helper.ts';
import type { HttpLoad, HttpLoadAsk } from './support/processes/http-load.ts';
import type { HubAsk } from './support/processes/hub-process.ts';
import type { SubscribersAsk } from './support/processes/subscribers.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const RUNS = 9;
const ENTRIES = 2_000;
const PARAMS = ['db_host', 'db_port', 'name', 'user', 'pass', 'host', 'port', 'service_port'];
const ANSWERS = 5_000;
const CONNECTIONS = 64;
const DELTAS = 1_000;
const SUBSCRIBERS = 1_000;
const PRICES = 100;
const PINGS = 2_000;
const STARTS = 25;

interface Bench {
  readonly hub: Helper<HubAsk>;
  readonly port: number;
  readonly load: Helper<HttpLoadAsk>;
  readonly plain: Helper<{ readonly type: 'serve'; readonly bytes: Uint8Array }>;
}

/** A hub, what asks it, and a plain HTTP server, each in a process of its own. */
async function openBench(env: Readonly<Record<string, string>> = {}): Promise<Bench & { end(): void }> {
  const hub = new Helper<HubAsk>('hub-process.ts');
  const quick = { HUB_RATE_LIMIT_RPM: '100000000', HTTP_MAX_PER_IP: '5000', ...env };
  const port = await hub.ask<number>({ type: 'start', database: await createDatabase('hub'), env: quick });
  const load = new Helper<HttpLoadAsk>('http-load.ts');
  const plain = new Helper<{ readonly type: 'serve'; readonly bytes: Uint8Array }>('plain-server.ts');
  const end = () => {
    for (const helper of [hub, load, plain]) helper.end();
  };
  return { hub, port, load, plain, end };
}

const call = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

async function post(port: number, body: string): Promise<Buffer> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
  return Buffer.from(await response.arrayBuffer());
}

function wire(body: string, path = '/', more = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

async function seed(port: number): Promise<void> {
  const modules = Object.fromEntries(
    Array.from({ length: ENTRIES / PARAMS.length }, (_, n) => [
      `m${n}-indexer`,
      Object.fromEntries(PARAMS.map((param) => [param, `${param}-of-${n}`]))
    ])
  );
  await post(port, call('updateconfig', { config: { bitcoin: { mainnet: modules } } }));
}

/** The whole configuration of 2,000 entries and an empty delta, against a server that sends the same bytes. */
async function configs(): Promise<Figure[]> {
  const { port, load, plain, end } = await openBench();
  await seed(port);
  const full = call('getallconfigs', {});
  const { watermark, entries } = JSON.parse((await post(port, full)).toString()).result;
  if (entries !== ENTRIES) throw new Error(`${entries} entries`);
  const delta = call('getallconfigs', { since_updated_at: watermark + 1 });
  const against = async (body: string, connections: number, count: number, read: (load: HttpLoad) => number) => {
    const plainPort = await plain.ask<number>({ type: 'serve', bytes: await post(port, body) });
    const run = (at: number) => async () =>
      read(await load.ask<HttpLoad>({ type: 'load', port: at, requests: [wire(body)], connections, count }));
    await run(port)();
    await run(plainPort)();
    return await alternate(RUNS, run(port), run(plainPort));
  };
  const answers = await against(full, CONNECTIONS, ANSWERS, ({ wallMs }) => (wallMs * 1_000) / ANSWERS);
  const empty = await against(delta, 1, DELTAS, ({ eachMs }) => median([...eachMs]));
  end();
  console.log(`${Math.round(1e6 / answers.measured)} answers a second; plain: ${Math.round(1e6 / answers.reference)}`);
  const what = `an answer of ${ENTRIES} entries, ${CONNECTIONS} connections`;
  return [
    { what, measured: answers.measured, reference: 0, unit: 'us', compare: 'above', most: 1e6 / 3_000, aim: 100 },
    { what: `${what}, against a plain server`, ...answers, unit: 'us', compare: 'times', most: 6, aim: 3 },
    { what: 'an empty delta, against a plain server', ...empty, unit: 'ms', compare: 'above', most: 1, aim: 0.3 }
  ];
}

/** A price from its push, which returns after the commit, to each of 1,000 subscribers. */
async function rows(): Promise<Figure[]> {
  const { port, end } = await openBench();
  const crowd = new Helper<SubscribersAsk>('subscribers.ts');
  const url = `ws://127.0.0.1:${port}/hub-db/subscribe`;
  await crowd.ask({ type: 'connect', url, key: 'none', count: SUBSCRIBERS });
  const price = {
    source_chain: 'LTC',
    source_address: 'ltc1qaddress',
    coin: 'LTC',
    tick: 'TOK',
    fiat: 'USD',
    value: '1.25',
    block_time: 1_700_000_000,
    push_generation: 0
  };
  const pushed = new Map<number, number>();
  const push = async (number: number) => {
    pushed.set(number, performance.timeOrigin + performance.now());
    await post(port, call('pushoracleprice', { ...price, action_index: number }));
    await sleep(100);
  };
  // Until everyone is past its `ready`.
  for (let number = 0, heard = 0; heard < SUBSCRIBERS; number--) {
    await push(PRICES - number);
    await sleep(500);
    heard = (await crowd.ask<Float64Array>({ type: 'collect' })).length / 2;
  }
  for (let number = 0; number < PRICES; number++) await push(number);
  await sleep(500);
  const heard = await crowd.ask<Float64Array>({ type: 'collect' });
  const wanted = SUBSCRIBERS * PRICES;
  if (heard.length !== 2 * wanted) throw new Error(`${heard.length / 2} of ${wanted} rows were received`);
  const delays = Array.from({ length: wanted }, (_, at) => heard[2 * at + 1]! - pushed.get(heard[2 * at]!)!);
  crowd.end();
  end();
  const what = `a price from its push to its receipt, ${SUBSCRIBERS} subscribers, p99`;
  return [{ what, measured: p99(delays), reference: 0, unit: 'ms', compare: 'above', most: 50, aim: 20 }];
}

/** Usage pings, each from another address. */
async function pings(): Promise<Figure[]> {
  const { hub, port, load, end } = await openBench({ TRUST_PROXY: '127.0.0.0/8', TELEMETRY_IP_SALT: 'salt' });
  const module = { module: 'sync', coin: 'litecoin', network: 'mainnet', version: '1.2.3', running: true };
  const requests = Array.from({ length: PINGS }, (_, at) => {
    const body = JSON.stringify({ install_id: randomUUID(), event: 'start', node_version: '1.2.3', modules: [module] });
    return wire(body, '/telemetry', `X-Forwarded-For: 10.1.${at >> 8}.${at & 255}\r\n`);
  });
  const before = cpuMs(hub.child.pid!);
  const { wallMs } = await load.ask<HttpLoad>({ type: 'load', port, requests, connections: CONNECTIONS, count: PINGS });
  const cpu = cpuMs(hub.child.pid!) - before;
  end();
  const each = { reference: 0, unit: 'ms', compare: 'above', most: 6, aim: 2 } as const;
  return [
    { ...each, what: 'a usage ping, CPU of the hub', measured: cpu / PINGS },
    { ...each, what: 'a usage ping, wall clock', measured: wallMs / PINGS }
  ];
}

/** A service that ends at once, under its guardian, with pings to an address that never answers and without pings. */
async function starts(): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  const run = async (env: Readonly<Record<string, string>>) => {
    const began = performance.now();
    // No setting is there, so it exits at once: the command's own time.
    const child = spawn(process.execPath, [MAIN, 'decoder'], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home, ...env },
      stdio: 'ignore'
    });
    await once(child, 'close');
    return performance.now() - began;
  };
  // 192.0.2.0/24 is for documentation: nothing there answers.
  const send = async () => {
    await changePreference(join(home, '.platform-node'), () => [{ noticeShown: true }, undefined]);
    return await run({ PLATFORM_NODE_TELEMETRY_URL: 'http://192.0.2.1:9/telemetry' });
  };
  try {
    await send();
    const without = () => run({ PLATFORM_NODE_NO_TELEMETRY: '1' });
    // Starts of one kind differ by more than pings may cost; only their fastest ones are alike.
    const both = await alternate(STARTS, send, without, (times) => Math.min(...times));
    const what = 'a command whose usage ping nobody takes, against one that sends none';
    return [{ what, ...both, unit: 'ms', compare: 'above', most: 5, aim: 0 }];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const PARTS = { configs, rows, pings, starts };

const { json, parts } = readArguments(
  `npm run bench -- hub [--only ${Object.keys(PARTS).join()}] [--json FILE]`,
  { json: { type: 'string' }, only: { type: 'string' } },
  ({ json, only }) => ({ json, parts: chooseParts(only, PARTS) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of parts) figures.push(...(await run()));
  report('hub', figures, json);
});
