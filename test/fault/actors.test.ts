import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActorDirectory } from '../../actors/runtime/supervision/directory.ts';
import { KeptPauses } from '../../actors/runtime/supervision/kept-pauses.ts';
import { type ActorSpec, Supervisor, type SupervisorOptions } from '../../actors/runtime/supervision/supervisor.ts';
import { hasCode, type PlatformError } from '../../src/errors.ts';
import { silentLogger } from '../../src/log.ts';
import type { DatabaseId } from '../../src/wire/data/database.ts';
import type { UnrulyAsks, UnrulyNeeds, UnrulyNotices } from '../fixtures/unruly-actor.ts';
import fc from '../support/fast-check.ts';
import { PATIENCE_MS } from '../support/patience.ts';

const ID: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };
const OTHER: DatabaseId = { ...ID, chain: 'litecoin' };
const ENTRY = new URL('../fixtures/unruly-actor.ts', import.meta.url);
const FAST = { baseDelayMs: 10, maxDelayMs: 40, budget: 3, windowMs: 60_000 };

type Options = Partial<SupervisorOptions<UnrulyNeeds, UnrulyNotices>>;

function open(options: Options = {}) {
  const reports: [DatabaseId, UnrulyNotices['report']][] = [];
  const fatal: PlatformError[] = [];
  const asked: DatabaseId[] = [];
  const supervisor = new Supervisor<UnrulyAsks, UnrulyNeeds, UnrulyNotices>({
    log: silentLogger,
    handlers: {
      double: (number, from) => {
        asked.push(from);
        return number * 2;
      }
    },
    listeners: { report: (report, from) => void reports.push([from, report]) },
    onFatal: (error) => void fatal.push(error),
    restart: FAST,
    firstGeneration: 1,
    ...options
  });
  after(() => supervisor.stopAll(1_000));
  return { supervisor, reports, fatal, asked };
}

const spec = (workerData: ActorSpec['workerData'] = {}, id = ID): ActorSpec => ({
  id,
  kind: 'source',
  entry: ENTRY,
  workerData
});

/** Looks again every few milliseconds. */
async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `never came true: ${holds}`);
    await sleep(5);
  }
}

const generationOf = (supervisor: Supervisor<UnrulyAsks, UnrulyNeeds, UnrulyNotices>) =>
  supervisor.list()[0]!.generation;

test('starts actors, finds them by id, and hands their asks and notices on with the id', async () => {
  const { supervisor, reports, asked } = open();
  supervisor.start(spec());
  supervisor.start(spec({}, OTHER));
  assert.throws(
    () => supervisor.handle(ID),
    (error) => hasCode(error, 'ACTOR_NOT_READY')
  );
  assert.throws(
    () => supervisor.handle({ ...ID, chain: 'dogecoin' }),
    (error) => hasCode(error, 'DATABASE_UNKNOWN')
  );
  await until(() => supervisor.state(ID) === 'running' && supervisor.state(OTHER) === 'running');
  assert.equal(await supervisor.handle(OTHER).ask('relay', 4), 8);
  assert.deepEqual(asked, [OTHER]);
  await supervisor.handle(ID).ask('report', { height: 7 });
  assert.deepEqual(reports, [[ID, { height: 7 }]]);
});

test('the beacon of a thread that was blocked tells for how long its event loop stood', async () => {
  const { supervisor } = open();
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  const delayMs = () => supervisor.list()[0]!.beacon!.eventLoopDelayMs;
  assert.equal(delayMs(), 0);
  await sleep(1_100); // two looks
  const began = performance.now();
  await supervisor.handle(ID).ask('block', null);
  const blockedMs = performance.now() - began;
  let shownMs = 0;
  await until(() => {
    shownMs = Math.max(shownMs, delayMs());
    return shownMs > 0;
  });
  assert.ok(shownMs > blockedMs - 600 && shownMs < blockedMs + 600, `${shownMs} of ${blockedMs} ms`);
});

test('two processes never give their actors the same generation', async () => {
  const generations = [1, 2].map(() => {
    const { supervisor } = open({ firstGeneration: undefined as never });
    supervisor.start(spec());
    return generationOf(supervisor);
  });
  assert.notEqual(generations[0], generations[1]);
  assert.ok(generations.every(Number.isSafeInteger));
});

test('a killed thread comes back with the next generation, fresh data, and only after the dead one was reaped', async () => {
  const order: string[] = [];
  const { supervisor } = open({
    reap: async ({ generation }) => {
      await sleep(80);
      order.push(`reaped ${generation}`);
    }
  });
  let starts = 0;
  supervisor.start(
    spec(() => {
      starts += 1;
      order.push(`start ${starts}`);
      return { note: `start ${starts}` };
    })
  );
  await until(() => supervisor.state(ID) === 'running');
  await supervisor.kill(ID);
  await until(() => supervisor.state(ID) === 'running' && generationOf(supervisor) === 2);
  assert.deepEqual(order, ['start 1', 'reaped 1', 'start 2']);
  const { generation, note } = await supervisor.handle(ID).ask('start.data', null);
  assert.deepEqual({ generation, note }, { generation: 2, note: 'start 2' });
  const view = supervisor.list()[0]!;
  assert.deepEqual(
    view.restarts.causes.map(({ cause, generation }) => ({ cause, generation })),
    [{ cause: 'killed', generation: 1 }]
  );
  assert.deepEqual(
    view.transitions.map(({ from, to }) => `${from} ${to}`),
    ['null running', 'running backoff', 'backoff running']
  );
});

test('reaping that fails or never ends holds the successor up no longer than its deadline', async () => {
  for (const reap of [() => Promise.reject(new Error('no server')), () => new Promise<void>(() => undefined)]) {
    const { supervisor } = open({ reap, reapDeadlineMs: 50 });
    supervisor.start(spec());
    await until(() => supervisor.state(ID) === 'running');
    await supervisor.kill(ID);
    await until(() => supervisor.state(ID) === 'running' && generationOf(supervisor) === 2);
  }
});

test('crashes are restarted until the budget is spent; then the actor is failed until it is told to restart', async () => {
  const { supervisor } = open();
  let broken = true;
  supervisor.start(spec(() => ({ crashAtStart: broken })));
  await until(() => supervisor.state(ID) === 'failed');
  const view = supervisor.list()[0]!;
  assert.equal(view.generation, FAST.budget + 1);
  assert.deepEqual(
    { ...view.restarts, causes: view.restarts.causes.length },
    { inWindow: 4, budget: FAST.budget, total: 4, causes: 4 }
  );
  assert.match(view.reason?.message ?? '', /cannot start/);
  assert.throws(
    () => supervisor.handle(ID),
    (error) => hasCode(error, 'ACTOR_NOT_READY')
  );
  broken = false;
  await supervisor.restart(ID);
  await until(() => supervisor.state(ID) === 'running');
  assert.equal(supervisor.list()[0]!.restarts.inWindow, 0);
});

test('start data that cannot be made or cloned is a death like any other', async () => {
  const { supervisor } = open();
  supervisor.start(spec({ callback: () => 1 }));
  await until(() => supervisor.state(ID) === 'failed');
});

test('policy park: the actor stays down with its reason until an operator restarts it', async () => {
  const { supervisor, fatal } = open();
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await assert.rejects(supervisor.handle(ID).ask('fail', { code: 'ROW_REFUSED' }));
  await until(() => supervisor.state(ID) === 'parked');
  await sleep(100);
  assert.equal(supervisor.state(ID), 'parked');
  assert.equal(supervisor.list()[0]!.reason?.code, 'ROW_REFUSED');
  assert.deepEqual(fatal, []);
  await supervisor.restart(ID);
  await until(() => supervisor.state(ID) === 'running');
  assert.equal(supervisor.list()[0]!.reason, null);
});

test('an actor whose account MariaDB refuses is parked, and starts again by itself: the account may be made meanwhile', async () => {
  const { supervisor } = open({ refusedRetryMs: 200 });
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await assert.rejects(supervisor.handle(ID).ask('fail', { code: 'DATABASE_REFUSED' }));
  await until(() => supervisor.state(ID) === 'parked');
  await until(() => supervisor.state(ID) === 'running');
  assert.equal(generationOf(supervisor), 2);
  await assert.rejects(supervisor.handle(ID).ask('fail', { code: 'DATABASE_REFUSED' }));
  await until(() => supervisor.state(ID) === 'parked');
  await supervisor.pause(ID, 'from 192.0.2.7: repairs');
  await sleep(400);
  assert.equal(supervisor.state(ID), 'paused', 'an operator has the last word');
});

test('an actor that spent its restarts on a database that is away starts again by itself', async () => {
  const { supervisor } = open({ refusedRetryMs: 300 });
  supervisor.start(spec());
  for (let death = 0; death <= FAST.budget; death++) {
    await until(() => supervisor.state(ID) === 'running');
    await assert.rejects(supervisor.handle(ID).ask('fail', { code: 'DATABASE_UNAVAILABLE' }));
    await until(() => supervisor.state(ID) !== 'running');
  }
  await until(() => supervisor.state(ID) === 'failed');
  assert.equal(supervisor.view(ID).reason?.code, 'DATABASE_UNAVAILABLE');
  await until(() => supervisor.state(ID) === 'running');
  assert.equal(generationOf(supervisor), FAST.budget + 2);
});

test('ACTOR_PAUSED: who paused an actor, why and since when is told until it is resumed', async () => {
  const { supervisor } = open();
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await supervisor.pause(ID, 'from 192.0.2.7: repairs');
  const { code, message } = supervisor.view(ID).reason!;
  assert.equal(code, 'ACTOR_PAUSED');
  assert.match(message, /^an operator paused it at 20\S+Z \(from 192\.0\.2\.7: repairs\)/);
  assert.throws(() => supervisor.handle(ID), /repairs/);
  await supervisor.restart(ID);
  await until(() => supervisor.state(ID) === 'running');
  assert.equal(supervisor.view(ID).reason, null);
});

test('a pause outlives the process: the actor is not started until an operator resumes it, and the resume is kept too', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-pauses-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const next = () => open({ pauses: new KeptPauses(directory, silentLogger) }).supervisor;
  const first = next();
  for (const id of [ID, OTHER]) first.start(spec({}, id));
  await until(() => first.state(ID) === 'running' && first.state(OTHER) === 'running');
  await first.pause(ID, 'from 192.0.2.7: repairs');
  await first.stopAll(1_000);
  const second = next();
  for (const id of [ID, OTHER]) second.start(spec({}, id));
  await until(() => second.state(OTHER) === 'running');
  assert.equal(second.state(ID), 'paused');
  assert.match(
    second.view(ID).reason?.message ?? '',
    /^an operator paused it at 20\S+Z \(from 192\.0\.2\.7: repairs\)/
  );
  await second.restart(ID);
  await until(() => second.state(ID) === 'running');
  await second.stopAll(1_000);
  const third = next();
  third.start(spec());
  await until(() => third.state(ID) === 'running');
  await third.stopAll(1_000);
  writeFileSync(join(directory, 'paused.json'), 'nonsense');
  const fourth = next();
  fourth.start(spec());
  await until(() => fourth.state(ID) === 'running');
});

test('policy exit: the composition is told and the actor stays down', async () => {
  const { supervisor, fatal } = open();
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await assert.rejects(supervisor.handle(ID).ask('fail', { code: 'NODE_MISMATCH' }));
  await until(() => fatal.length === 1);
  assert.equal(fatal[0]!.code, 'NODE_MISMATCH');
  assert.equal(supervisor.state(ID), 'parked');
});

test('a thread that hangs is ended by the watchdog and restarted', async () => {
  const { supervisor } = open({ beaconTimeoutMs: 1_000 });
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await sleep(1_200);
  assert.equal(generationOf(supervisor), 1, 'a living thread is left alone');
  await assert.rejects(supervisor.handle(ID).ask('hang', null), (error) => hasCode(error, 'ACTOR_EXITED'));
  await until(() => supervisor.state(ID) === 'running' && generationOf(supervisor) === 2);
  assert.equal(supervisor.list()[0]!.restarts.causes[0]!.cause, 'hung');
});

test('a thread that is silent because it still loads its modules is waited for', async () => {
  const { supervisor } = open({ beaconTimeoutMs: 200 });
  supervisor.start(spec({ loadMs: 1_000 }));
  await until(() => supervisor.state(ID) === 'running');
  assert.deepEqual(supervisor.list()[0]!.restarts.causes, []);
});

test('threads start one after another, as many at once as there are turns', async () => {
  const ids = ['a', 'b', 'c', 'd'].map((chain) => ({ ...ID, chain }));
  const { supervisor } = open({ startsAtOnce: 1 });
  for (const id of ids) supervisor.start(spec({ loadMs: 300 }, id));
  const up = () => ids.filter((id) => supervisor.state(id) === 'running').map(({ chain }) => chain);
  const seen = new Set<string>();
  await until(() => {
    seen.add(up().join(''));
    return up().length === ids.length;
  });
  assert.deepEqual([...seen], ['', 'a', 'ab', 'abc', 'abcd']);
});

test('a thread that cannot be ended is told, for only the end of the process ends it', async () => {
  const stuck: DatabaseId[] = [];
  const { supervisor } = open({ endPatienceMs: 100, onStuck: (id) => void stuck.push(id) });
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  const blocked = supervisor.handle(ID).ask('block', null);
  blocked.catch(() => undefined);
  await sleep(200);
  void supervisor.kill(ID);
  await until(() => stuck.length > 0);
  assert.deepEqual(stuck, [ID]);
});

test('stopping is graceful within the grace and by force after it; a stopped actor can be started again', async () => {
  const reaped: number[] = [];
  const { supervisor } = open({ reap: async ({ generation }) => void reaped.push(generation) });
  let stopMs = 0;
  supervisor.start(spec(() => ({ stopMs })));
  await until(() => supervisor.state(ID) === 'running');
  await supervisor.stop(ID, 1_000);
  assert.equal(supervisor.state(ID), 'stopped');
  assert.equal(supervisor.list()[0]!.beacon, null);
  assert.deepEqual(reaped, []);
  stopMs = 60_000;
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await supervisor.stop(ID, 50);
  assert.deepEqual(reaped, [2]);
  await sleep(100);
  assert.equal(supervisor.state(ID), 'stopped');
});

test('an actor that is stopped while it waits for its restart stays down', async () => {
  const { supervisor } = open({ restart: { ...FAST, baseDelayMs: 100, maxDelayMs: 100 } });
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  await supervisor.kill(ID);
  await until(() => supervisor.state(ID) === 'backoff');
  await supervisor.stop(ID);
  await sleep(200);
  assert.equal(supervisor.state(ID), 'stopped');
  assert.equal(generationOf(supervisor), 1);
});

test('after anything done to an actor one of its threads lives, and none after the end', async () => {
  const operation = fc.record({
    name: fc.constantFrom<'kill' | 'stop' | 'start' | 'restart'>('kill', 'stop', 'start', 'restart'),
    pauseMs: fc.constantFrom(0, 0, 10, 60)
  });
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 3, maxLength: 6 }), async (operations) => {
      const pulse = new Int32Array(new SharedArrayBuffer(4 * 64));
      const { supervisor } = open({ reap: () => sleep(5), restart: { ...FAST, budget: 50 } });
      const beating = async () => {
        const before = [...pulse];
        await sleep(60);
        return pulse.filter((count, generation) => count !== before[generation]).length;
      };
      const start = () => supervisor.start(spec({ pulse }));
      start();
      const under = operations.map(async ({ name, pauseMs }, index) => {
        await sleep(index * 5 + pauseMs);
        if (name === 'start') start();
        else if (name === 'kill') await supervisor.kill(ID);
        else await supervisor[name](ID, 200);
      });
      await Promise.all(under);
      await supervisor.restart(ID, 200);
      await until(() => supervisor.state(ID) === 'running');
      await until(() => pulse[generationOf(supervisor)]! > 0);
      assert.equal(await beating(), 1);
      assert.equal((await supervisor.handle(ID).ask('start.data', null)).generation, generationOf(supervisor));
      await supervisor.stopAll(200);
      assert.equal(await beating(), 0);
    }),
    { numRuns: 8 }
  );
});

test('the view shows machines, the wait, the beacon, and a bounded ring of transitions', async () => {
  const { supervisor } = open({ ringSize: 5 });
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  const handle = supervisor.handle(ID);
  for (let round = 0; round < 6; round++) await handle.ask('transition', null);
  await handle.ask('wait', { on: 'MariaDB' });
  const view = supervisor.list()[0]!;
  assert.equal(view.machines['circuit']?.state, 'open');
  assert.equal(view.machines['restart']?.state, 'running');
  assert.equal(view.waiting?.on, 'MariaDB');
  assert.equal(view.beacon?.mailboxDepth, 0);
  assert.equal(view.transitions.length, 5);
  assert.equal(view.transitions.at(-1)?.to, 'open');
  await handle.ask('wait', { on: null });
  assert.equal(supervisor.list()[0]!.waiting, null);
  assert.doesNotThrow(() => JSON.stringify(supervisor.list()));
});

test('the directory keeps the last report while the actor is down', async () => {
  const { supervisor } = open();
  const directory = new ActorDirectory<UnrulyAsks, { height: number }>(supervisor);
  supervisor.start(spec());
  await until(() => supervisor.state(ID) === 'running');
  assert.throws(
    () => directory.lastReport(ID),
    (error) => hasCode(error, 'ACTOR_NOT_READY')
  );
  assert.throws(
    () => directory.lastReport(OTHER),
    (error) => hasCode(error, 'DATABASE_UNKNOWN')
  );
  directory.keepReport(ID, { height: 9 });
  assert.equal(await directory.lookup(ID).ask('echo', 'here'), 'here');
  await supervisor.stop(ID);
  assert.deepEqual(directory.lastReport(ID), { height: 9 });
  assert.deepEqual(directory.list(), [{ id: ID, state: 'stopped', report: { height: 9 } }]);
  assert.throws(
    () => directory.lookup(ID),
    (error) => hasCode(error, 'ACTOR_NOT_READY')
  );
});
