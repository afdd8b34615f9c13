import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { startProgram } from '../support/service-process.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

const NODE = process.execPath;
const run = promisify(execFile);
const COPIED = ['src', 'actors', 'machines', 'workers', 'scripts', 'test', 'docs', 'package.json', 'dist/web'];

/** The folder of a service that does nothing but to be there. */
const DEFINITION = `import { serviceVariables } from '../config/service.ts';
import { defineService } from '../service/define.ts';

const variables = serviceVariables('CLOCK', { service: 'clock', usualPort: 3999 });

/** The clock: counts the seconds of its thread. */
export const service = defineService({
  name: 'clock',
  command: 'clock',
  summary: 'counts seconds',
  variables,
  checks: { prefixes: ['CLOCK_'] },
  place: { host: 'CLOCK_API_HOST', port: 'CLOCK_API_PORT', key: 'CLOCK_API_KEY' },
  actors: { clock: ['halt', 'restart'] },
  start: async (config, start) => (await import('./start.ts')).startClock(config, start)
});
`;
const START = `import { placeOf } from '../config/service.ts';
import type { RunningService, Start } from '../service/define.ts';
import { createRpcFrame } from '../service/life/rpc-frame.ts';
import { startSupervised } from '../service/life/supervised.ts';
import type { service } from './service.ts';

/** Starts the clock. */
export async function startClock(config: Parameters<typeof service.start>[0], { service, log }: Start): Promise<RunningService> {
  const reportOf = (height: number) => ({ phase: 'counting', circuit: null, height, tip: null, lagBlocks: null, lastError: null });
  return startSupervised<number, Record<never, never>>({
    service,
    config,
    log,
    workerData: {},
    reportOf,
    id: { kind: 'clock', chain: 'litecoin', network: 'regtest' },
    code: 'RLTC',
    place: placeOf(config, 'CLOCK'),
    pipeline: () => ({ nodes: [], edges: [] }),
    createApp: ({ view, serves, ...parts }) =>
      createRpcFrame({
        ...parts,
        config,
        name: 'clock',
        readers: config.CLOCK_API_KEY,
        description: 'Counts seconds.',
        readiness: () => (view().crash !== null ? 'unavailable' : view().report === null ? 'starting' : 'ready'),
        rpc: { methods: [], requestsPerMinute: 60, serves }
      })
  });
}
`;
const ACTOR = `import { createLogger } from '../../src/log.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

const host = hostActor<Record<never, never>, Record<never, never>, { report: number }>({
  handlers: {},
  stop: async () => clearInterval(timer),
  log: createLogger('clock')
});
let seconds = 0;
const timer = setInterval(() => {
  host.tell('report', ++seconds);
  if (seconds !== 30) return;
  for (const end = Date.now() + 12_000; Date.now() < end; );
}, 100);
`;

const root = temporaryDirectory('new-service');

before(() => {
  for (const path of COPIED) cpSync(path, join(root, path), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'src/clock'));
  mkdirSync(join(root, 'actors/clock'));
  writeFileSync(join(root, 'src/clock/service.ts'), DEFINITION);
  writeFileSync(join(root, 'src/clock/start.ts'), START);
  writeFileSync(join(root, 'actors/clock/actor.ts'), ACTOR);
  const list = join(root, 'src/services.ts');
  const line = "  clock: { load: () => import('./clock/service.ts') },\n  miner:";
  writeFileSync(list, readFileSync(list, 'utf8').replace('  miner:', line));
});

const platform = async (...args: string[]) => (await run(NODE, ['src/main.ts', ...args], { cwd: root })).stdout;

test('a service is a folder and a line: the command line and the documents have it', async () => {
  assert.match(await platform('--help'), /^ {2}clock +counts seconds$/m);
  assert.match(await platform('clock', '--help'), /CLOCK_API_PORT .*3999[\s\S]*LOG_LEVEL/);
  assert.match(await platform('clock', '--check-config'), /CLOCK_API_PORT/);
  const document =
    "import('./scripts/documents/configuration.ts').then(async (m) => console.log(await m.renderConfiguration()))";
  const { stdout } = await run(NODE, ['--input-type=module', '-e', document], { cwd: root });
  assert.match(stdout, /^## platform-node clock\n\ncounts seconds\.\n/m);
});

test('its process is guarded, and status, metrics, readiness and console know it with its charts', async () => {
  const port = await freePort();
  const env = { CLOCK_API_PORT: String(port), CLOCK_API_HOST: '127.0.0.1' };
  const service = startProgram(NODE, [join(root, 'src/main.ts'), 'clock'], { ...env, PLATFORM_NODE_NO_TELEMETRY: '1' });
  const url = `http://127.0.0.1:${port}`;
  const readiness = async () => await (await fetch(`${url}/readyz`).catch(() => undefined))?.text();
  const isReady = async () => (await readiness())?.includes('"ready"') === true;
  await eventually('it is ready', isReady);
  const { stdout } = await run(NODE, ['src/main.ts', 'status', '--service', 'clock'], {
    cwd: root,
    env: { ...process.env, ...env }
  });
  assert.match(stdout, /^clock \S+ is ready$/m);
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^clock_readiness\{.*"ready"\} 1$/m);
  const live = (await (await fetch(`${url}/debug/live`)).json()) as {
    service: string;
    databases: readonly { key: string; charts: readonly string[]; report: { height: number } }[];
  };
  const [actor] = live.databases;
  assert.deepEqual([live.service, actor?.key, actor?.charts], ['clock', 'clock/litecoin/regtest', ['halt', 'restart']]);
  assert.ok(actor!.report.height > 0);
  await eventually('a thread that computes without a pause is told', async () => !(await isReady()));
  await eventually('it is ready again', isReady);
  service.child.kill('SIGTERM');
  assert.equal(await service.exited, 0);
});

test('the house knows its folder, and asks only what its thread may import', async () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-name-pattern=downwards', 'test/architecture.test.ts'];
  const { stdout } = await run(NODE, args, { cwd: root, env }).catch((caught: { stdout: string }) => caught);
  const asked = [...stdout.matchAll(/^ +\+ {3}'(.+)'$/gm)].map(([, line]) => line);
  assert.deepEqual(asked, ['actors/clock/actor.ts is in no room']);
});
