import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { hubVariables } from '../../../src/config/services/hub.ts';
import { holdDirectory } from '../../../src/devnet/directory.ts';
import { planHubs } from '../../../src/devnet/hubs.ts';
import { planRounds } from '../../../src/devnet/processes/miner.ts';
import { type ServiceOrder, startService } from '../../../src/devnet/processes/process.ts';
import { createRandom } from '../../../src/devnet/random.ts';
import { orderOf, orderOfHub, planOf } from '../../../src/devnet/services.ts';
import { type DevnetSettings, HOST } from '../../../src/devnet/settings.ts';
import { findValidatorFaults } from '../../../src/hub/validator-settings.ts';
import { PARTS } from '../../../src/installation/plan.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const directory = mkdtempSync(join(tmpdir(), 'platform-devnet-unit-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const { signal } = new AbortController();

function shellOrder(name: string, script: string, isReady: () => Promise<boolean>): ServiceOrder {
  const logFile = join(directory, `${name}.log`);
  return {
    name,
    command: '/bin/sh',
    args: ['-c', script],
    env: { PATH: process.env['PATH'] },
    directory,
    logFile,
    isReady
  };
}

test('property: the same seed gives the same plan, another seed another, and every action fits one OP_RETURN', () => {
  const accounts = Array.from({ length: 6 }, (_, index) => `rltc1${String(index).repeat(39)}`);
  const plan = (seed: string) => planRounds(seed, accounts).take(40).toArray();
  fc.assert(
    fc.property(fc.string(), fc.string(), (seed, other) => {
      const rounds = plan(seed);
      assert.deepEqual(rounds, plan(seed));
      if (other !== seed) assert.notDeepEqual(rounds, plan(other));
      // 80 bytes, less the magic and the push's own length byte.
      for (const { payments } of rounds)
        for (const { action } of payments) assert.ok(Buffer.byteLength(action) <= 75, action);
    }),
    { numRuns: 25 }
  );
});

test('the plan means something to an indexer: most payments are valid, some are refused, balances move', () => {
  const ledger = new MemoryLedger(100, { ...TEST_RULES, coin: 'LTC' });
  const rounds = planRounds('indexer', ['A', 'B', 'C', 'D', 'E', 'F']).take(200).toArray();
  const statuses = rounds.flatMap(({ payments }) =>
    ledger.act(...payments.map(({ from, action }) => [from, action] as const)).map((rows) => rows.at(-1) ?? '')
  );
  const valid = statuses.filter((status) => status === 'valid').length;
  assert.ok(valid > statuses.length / 2, `${valid} of ${statuses.length} are valid`);
  assert.ok(new Set(statuses).size > 8, [...new Set(statuses)].join('; '));
  assert.ok(ledger.balances().size > 10);
});

test('property: whole numbers stay within their bounds and reach both', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: -5, max: 5 }), fc.integer({ min: 0, max: 3 }), (seed, min, span) => {
      const random = createRandom(seed);
      const drawn = new Set(Array.from({ length: 200 }, () => random.between(min, min + span)));
      assert.deepEqual([Math.min(...drawn), Math.max(...drawn)], [min, min + span]);
    }),
    { numRuns: 50 }
  );
});

test("the caller's own variables configure no service of the devnet", () => {
  const shell = {
    PATH: '/bin',
    SYNC_MODE: 'client',
    SYNC_EXCLUDE: 'x',
    HUB_VALIDATORS: 'other:1',
    DECODER_DB_NAME: 'precious'
  };
  const ports = { miner: 9, hub: 1, decoder: 2, indexer: 7, tracker: 6, encoder: 8, explorer: 9, server: 3, client: 4 };
  const settings: DevnetSettings = { directory, seed: 's', ports, apiKey: 'k', hubs: [], shell, tell: () => undefined };
  const database = { host: '127.0.0.1', port: 5, user: 'u', pass: 'p' };
  const node = { host: '127.0.0.1', port: 6, user: 'u', password: 'p' };
  const plan = planOf(settings, database, node);
  for (const { name, env } of PARTS.map((part) => orderOf(settings, plan, part))) {
    assert.equal(env['PATH'], '/bin', name);
    assert.deepEqual([env['SYNC_EXCLUDE'], env['HUB_VALIDATORS']], [undefined, undefined], name);
    assert.notEqual(env['DECODER_DB_NAME'], 'precious', name);
  }
  assert.equal(orderOf(settings, plan, 'server').env['SYNC_MODE'], 'server');
});

test('hubs of a set have a database and a place each, one file, and keys that stay; services know all of them', async () => {
  const set = join(directory, 'set');
  const hubs = await planHubs(set, 4, 1);
  const ports = { miner: 9, hub: 1, decoder: 2, indexer: 7, tracker: 6, encoder: 8, explorer: 9, server: 3, client: 4 };
  const settings = { directory, seed: 's', ports, apiKey: 'k', hubs, shell: {}, tell: () => undefined };
  const plan = planOf(
    settings,
    { host: HOST, port: 5, user: 'u', pass: 'p' },
    { host: HOST, port: 6, user: 'u', password: 'p' }
  );
  const all = hubs.map(({ port }) => `${HOST}:${port}`).join(',');
  assert.equal(orderOf(settings, plan, 'indexer').env['HUB_VALIDATORS'], all);
  assert.equal(orderOf(settings, plan, 'decoder').env['HUB_VALIDATORS'], undefined);
  const orders = hubs.map((hub) => orderOfHub(settings, plan, hub));
  for (const name of ['HUB_PORT', 'HUB_DB_NAME', 'P2P_PORT', 'SIGNING_PRIVKEY_HEX'])
    assert.equal(new Set(orders.map(({ env }) => env[name])).size, 4, name);
  for (const { name, env, args } of orders) {
    const config = loadConfig(hubVariables, { env: env as Record<string, string> }).values;
    assert.deepEqual([findValidatorFaults(config), config.HUB_FEDERATION?.members.length], [[], 4], name);
    assert.equal(args.at(-1), '--rejoin');
  }
  const again = await planHubs(set, 4, 1);
  assert.deepEqual(
    again.map(({ key }) => key),
    hubs.map(({ key }) => key)
  );
});

test('PROCESS_EXITED: a service that ends before it is ready, with the end of its log', async () => {
  const order = shellOrder('early', 'echo no database here; exit 3', async () => false);
  await assert.rejects(startService(order, signal), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'PROCESS_EXITED');
    assert.match(
      error.message,
      /early ended with exit code 3; its log is .*early\.log, which ends with:\nno database here/
    );
    return true;
  });
});

test('a service that runs is told of its death, but not when it is stopped', async () => {
  const flag = join(directory, 'up');
  const ready = async () => existsSync(flag);
  const dying = await startService(shellOrder('dying', `touch "${flag}"; sleep 0.3; kill -9 $$`, ready), signal);
  await assert.rejects(dying.death, /dying ended with SIGKILL/);
  const stopped = await startService(shellOrder('stopped', 'exec sleep 60', ready), signal);
  await stopped.stop();
  assert.throws(() => process.kill(stopped.pid, 0), { code: 'ESRCH' });
  assert.equal(await Promise.race([stopped.death, Promise.resolve('silent')]), 'silent');
});

test('a start that is interrupted leaves no process', async () => {
  const interrupt = new AbortController();
  const pidFile = join(directory, 'pid');
  const starting = startService(
    shellOrder('slow', `echo $$ > "${pidFile}.new"; mv "${pidFile}.new" "${pidFile}"; exec sleep 60`, async () => {
      if (existsSync(pidFile)) interrupt.abort();
      return false;
    }),
    interrupt.signal
  );
  await assert.rejects(starting, { name: 'AbortError' });
  const pid = Number(readFileSync(pidFile, 'utf8'));
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('STATE_LOCKED: a directory in which another devnet runs; no number in a file keeps one from its start', async () => {
  const path = join(directory, 'held');
  const held = await holdDirectory(path, { fresh: false });
  await assert.rejects(holdDirectory(path, { fresh: false }), { code: 'STATE_LOCKED', message: /--dir/ });
  held.release();
  writeFileSync(join(path, 'devnet.pid'), String(process.pid));
  (await holdDirectory(path, { fresh: true })).release();
  assert.ok(!existsSync(join(path, 'devnet.pid')), 'it was to begin with an empty directory');
});
