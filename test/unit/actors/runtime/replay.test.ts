import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { observeMachine } from '../../../../actors/runtime/observe.ts';
import { replayTransition } from '../../../../actors/runtime/supervision/replay.ts';
import { decoderMachine, type Fork, type Found } from '../../../../machines/follower/chain-writer.ts';
import type { Opened } from '../../../../machines/follower/follower.ts';
import { circuitBreakerMachine } from '../../../../machines/runtime/circuit-breaker.ts';
import { type Inspection, type Outcome, replicaMachine } from '../../../../machines/sync/replica.ts';
import { PlatformError } from '../../../../src/errors.ts';
import type { Transition } from '../../../../src/wire/state/transition.ts';
import { runCommandLine } from '../../../support/command-line.ts';
import fc from '../../../support/fast-check.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

const directory = mkdtempSync(join(tmpdir(), 'platform-replay-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Returns transitions after an export: JSON text and back. */
const exported = (transitions: Transition[]): Transition[] => JSON.parse(JSON.stringify(transitions)) as Transition[];
const isStart = ({ from }: Transition) => from === null;

test('each transition of a circuit breaker replays the same', () => {
  const call = fc.constantFrom('call.started', 'call.succeeded', 'call.failed', 'wait');
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
      const seen: Transition[] = [];
      const clock = new SimulatedClock();
      const input = { failureThreshold: 3, cooldownMs: 10, trialTimeoutMs: 10 };
      const inspect = observeMachine('circuitBreaker', (transition) => seen.push(transition));
      const actor = createActor(circuitBreakerMachine, { input, clock, inspect }).start();
      for (const type of calls) {
        if (type === 'wait') clock.increment(10);
        else actor.send({ type } as { type: 'call.started' });
      }
      for (const step of exported(seen).filter((each) => !isStart(each)))
        assert.equal(replayTransition(step).outcome, 'same', JSON.stringify(step));
    })
  );
});

test('a decoder that refuses a deep fork and loses its database replays, the code of the error included', async () => {
  const seen: Transition[] = [];
  const machine = decoderMachine.provide({
    actors: {
      connect: fromPromise<Opened, void>(async () => ({ isHalted: false })),
      awaitNode: fromPromise<void, void>(async () => undefined),
      takeBlocks: fromPromise<Found, void>(async () => 'fork'),
      locateFork: fromPromise<Fork, void>(async () => ({ depth: 6, isAllowed: false })),
      refuse: fromPromise<void, void>(() =>
        Promise.reject(new PlatformError('DATABASE_UNAVAILABLE', { reason: 'a test' }))
      )
    }
  });
  const inspect = observeMachine('decoder', (transition) => seen.push(transition));
  const input = { maxRollbackDepth: 5, reconnectDelayMs: 60_000 };
  const decoder = createActor(machine, { input, inspect }).start();
  await eventually('the database is lost', async () => decoder.getSnapshot().matches('reconnecting'));
  decoder.stop();
  assert.deepEqual(
    exported(seen).map((step) => replayTransition(step).found),
    ['a start', 'waitingForNode', 'parsing.catchingUp', 'locatingFork', 'refusing', 'reconnecting']
  );
});

/** A replica that is halted at first, forks once, and meets a final fault in the end. */
async function recordReplica(): Promise<Transition[]> {
  const seen: Transition[] = [];
  const looks: Outcome[] = [{ kind: 'forked', height: 4 }, { kind: 'done' }];
  const machine = replicaMachine.provide({
    actors: {
      inspect: fromPromise<Inspection, void>(async () => ({ halted: false, bootstrapped: true })),
      catchUp: fromPromise<Outcome, { readonly reconcile: boolean }>(async () => looks.shift() ?? { kind: 'done' }),
      rollBack: fromPromise<Outcome, { readonly height: number }>(async () => ({ kind: 'done' })),
      verify: fromPromise<Outcome, void>(async () =>
        Promise.reject(new PlatformError('REPLICA_FOREIGN', { reason: 'a test' }))
      )
    }
  });
  const inspect = observeMachine('replica', (transition) => seen.push(transition));
  const actor = createActor(machine, { input: { reconnectDelayMs: 1, jitter: () => 0 }, inspect }).start();
  await eventually('the replica fails', async () => actor.getSnapshot().status === 'done');
  return seen;
}

test('outcomes of effects and the policies of errors replay too; a step that goes elsewhere is named, with 1', async () => {
  const steps = exported(await recordReplica());
  assert.deepEqual(
    steps.map(({ to }) => to),
    ['inspecting', 'catchingUp', 'rollingBack', 'reconciling', 'verifying', 'failed']
  );
  const entries = steps.map((step, seq) => ({
    kind: 'transition',
    seq,
    actor: { dbType: 'decoder', chain: 'litecoin', network: 'regtest' },
    ...step
  }));
  const file = join(directory, 'timeline.json');
  writeFileSync(file, JSON.stringify({ entries }));
  const same = await runCommandLine(['replay', file]);
  assert.equal(same.code, 0, same.stdout + same.stderr);
  assert.match(same.stdout, /^5 transitions the same, 0 parted, 1 skipped/);

  writeFileSync(
    file,
    JSON.stringify({ entries: entries.map((each) => ({ ...each, to: each.to.replace('failed', 'live') })) })
  );
  const parted = await runCommandLine(['replay', file]);
  assert.equal(parted.code, 1);
  assert.match(parted.stdout, /decoder\/litecoin\/regtest replica: .* led from verifying to live; now: failed/);
  const { stdout } = await runCommandLine(['replay', file, '--json']);
  const { parted: count, differences } = JSON.parse(stdout) as { parted: number; differences: { now: string }[] };
  assert.deepEqual([count, differences[0]?.now], [differences.length, 'failed']);
});

test('INPUT_INVALID: what is not an exported timeline is refused with 65', async () => {
  const file = join(directory, 'nonsense.json');
  for (const content of [
    'nonsense',
    '{}',
    '{"entries":[{"kind":"transition","seq":1,"actor":{"dbType":"x","chain":"y","network":"z"}}]}'
  ]) {
    writeFileSync(file, content);
    const { code, stderr } = await runCommandLine(['replay', file]);
    assert.equal(code, 65, stderr);
    assert.match(stderr, /nonsense\.json|entry 1/);
  }
  assert.equal((await runCommandLine(['replay'])).code, 64);
});
