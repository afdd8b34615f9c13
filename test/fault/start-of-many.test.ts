import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism, loadavg } from 'node:os';
import { type TestContext, test } from 'node:test';
import { ActorHandle, actorEntry } from '../../actors/runtime/supervision/actor-handle.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { ActorView, Beacon } from '../../src/wire/state/actor-view.ts';
import { atEnd } from '../support/cleanup.ts';
import { testServer } from '../support/mariadb.ts';
import { eventually, replicasAt, startSyncProcess } from '../support/sync/sync-process.ts';
import { UNHEARD } from '../support/unheard.ts';

const CHAINS = ['bitcoin', 'litecoin', 'dogecoin'];
const NETWORKS = ['mainnet', 'testnet', 'regtest'];
const KINDS = ['decoder', 'indexer'];
const DATABASES = CHAINS.length * NETWORKS.length * KINDS.length;
const QUIET_MS = 10_000;
const LOADED_MS = 60_000;
/** Load of the machine, by processes that compute beside the service. */
const LOAD = 15;
const SPIN = 'for (const end = Date.now() + 90_000; Date.now() < end; );';

/** Threads of the whole machine that run or wait for a core. */
function running(): number {
  return process.platform === 'linux' ? Number(/(\d+)\//.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1]) : 0;
}

/** A hub that names all databases of all chains. @returns its port */
async function startHubOfAll(t: TestContext): Promise<number> {
  const { host, port, user, pass } = await testServer();
  const named = (kind: string, place: string) => ({
    [`platform-${kind}`]: { db_host: host, db_port: String(port), name: `all_${kind}_${place}`, user, pass }
  });
  const networks = (chain: string) =>
    NETWORKS.map((network) => {
      const databases = KINDS.map((kind) => named(kind, `${chain}_${network}`));
      return [network, Object.assign({}, ...databases)] as const;
    });
  const result = Object.fromEntries(CHAINS.map((chain) => [chain, Object.fromEntries(networks(chain))]));
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

/** Starts a client of all databases. @returns how long it took until all actors were up, none of them twice */
async function startAll(t: TestContext, deadlineMs: number): Promise<number> {
  const hubPort = await startHubOfAll(t);
  const began = performance.now();
  const env = {
    SYNC_MODE: 'client',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hubPort,
    SYNC_SOURCES: `http://127.0.0.1:${await freePort()}`,
    ...replicasAt(await testServer()),
    REPLICA_DB_PREFIX: 'replica_'
  };
  const client = await startSyncProcess(env, [], [], deadlineMs);
  t.diagnostic(`the front door answered after ${Math.round(performance.now() - began)} ms`);
  let actors: readonly ActorView[] = [];
  await eventually(`${DATABASES} actors are up`, deadlineMs, async () => {
    const { body } = await client.get('/debug/actors');
    actors = body as object as readonly ActorView[];
    return actors.filter(({ state }) => state === 'running').length === DATABASES;
  }).catch((fault: Error) => {
    const states = actors.map(({ state, restarts }) => `${state} ${restarts.total}`);
    throw new Error(`${fault.message}: ${states}`);
  });
  assert.deepEqual([...new Set(actors.map(({ restarts }) => restarts.total))], [0], 'none died on its way');
  const took = performance.now() - began;
  await client.end();
  assert.doesNotMatch(client.log(), /statements of the dead actor could not be ended/);
  return took;
}

test('all databases of all chains are up within ten seconds, on a machine that is not loaded', async (t) => {
  const allowance = QUIET_MS * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
  const took = await startAll(t, allowance);
  t.diagnostic(`${DATABASES} actors were up after ${Math.round(took)} ms`);
  assert.ok(took < allowance);
});

test('and within a minute at a load of fifteen', async (t) => {
  const length = Math.max(1, LOAD - running());
  const spinning = Array.from({ length }, () => spawn(process.execPath, ['-e', SPIN], { stdio: 'ignore' }));
  const end = () => {
    for (const child of spinning) child.kill('SIGKILL');
  };
  atEnd(async () => end());
  try {
    const took = await startAll(t, LOADED_MS);
    t.diagnostic(`${DATABASES} actors were up after ${Math.round(took)} ms`);
    assert.ok(took < LOADED_MS);
  } finally {
    end();
  }
});

/** CPU of a thread up to its first beacon. */
async function startCpuMs(entry: URL): Promise<number> {
  const first = Promise.withResolvers<Beacon>();
  const handle = new ActorHandle({
    entry,
    name: 'started',
    workerData: {
      id: { dbType: 'indexer', chain: 'litecoin', network: 'regtest' },
      generation: 1,
      coordinates: { host: '127.0.0.1', port: await freePort(), user: 'nobody', pass: '', name: 'nowhere' },
      sources: [{ url: `http://127.0.0.1:${await freePort()}`, apiKey: undefined }],
      localTables: [],
      logLevel: 'silent'
    },
    mailboxLimit: 4,
    handlers: {},
    onFault: () => undefined,
    listeners: { ...UNHEARD, beacon: first.resolve }
  });
  const death = handle.exited.then((error) => Promise.reject(error));
  const { cpuMs } = await Promise.race([first.promise, death]);
  death.catch(() => undefined);
  await handle.terminate();
  return cpuMs;
}

test('a thread starts from what set-up bundled for less than half of the CPU that its source takes', async (t) => {
  const source = new URL('../../actors/replica/actor.ts', import.meta.url);
  const entry = actorEntry('replica');
  assert.match(entry.href, /\/dist\/entries\//, 'set-up has built what threads start from, of this very source');
  await startCpuMs(entry); // its bytecode is kept from now on
  const took: { readonly bundled: number; readonly source: number }[] = [];
  for (let round = 0; round < 4; round++)
    took.push({ bundled: await startCpuMs(entry), source: await startCpuMs(source) });
  const least = (of: 'bundled' | 'source') => Math.min(...took.map((each) => each[of]));
  t.diagnostic(`CPU per start: ${least('bundled')} ms from the bundle, ${least('source')} ms from the source`);
  assert.ok(least('bundled') < least('source') / 2);
});
