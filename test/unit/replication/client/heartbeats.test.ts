import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { isTimeSigned } from '../../../../src/consensus/auth-signature.ts';
import { type Applied, Heartbeats } from '../../../../src/replication/client/heartbeats.ts';
import type { Subscription } from '../../../../src/replication/client/subscription.ts';
import { authMessage, validatorIdentity } from '../../../../src/replication/client/validator-identity.ts';
import { openValidatorIdentity } from '../../../../src/sync/validator-key.ts';
import type { AuthMessage, HeartbeatBody, HeartbeatMessage } from '../../../../src/wire/validator.ts';
import fc from '../../../support/fast-check.ts';
import { temporaryDirectory } from '../../../support/sync/sync-process.ts';

const SEED = '55'.repeat(32);

/** Heartbeats whose stream and source only note what they are sent, on a clock of the test's. */
function stage(t: { after(act: () => void): void }) {
  const sent: (HeartbeatMessage | AuthMessage)[] = [];
  const posted: HeartbeatBody[] = [];
  const state = {
    applied: null as Applied | null,
    stream: undefined as Subscription | undefined,
    now: 1_000_000,
    fails: false
  };
  const faults: unknown[] = [];
  const heartbeats = new Heartbeats({
    identity: validatorIdentity(SEED, 'v1'),
    applied: () => state.applied,
    stream: () => state.stream,
    source: () => ({
      heartbeat: async (body) => {
        posted.push(body);
        if (state.fails) throw new Error('no');
      }
    }),
    onFault: (fault) => faults.push(fault)
  });
  t.after(() => heartbeats.close());
  const open = () => {
    state.stream = { send: (message: HeartbeatMessage) => sent.push(message) > 0 } as unknown as Subscription;
  };
  const at = (height: number) => {
    state.applied = { height, blockTime: 7 };
  };
  const tick = (ms: number) => {
    state.now += ms;
    heartbeats.tick(state.now);
  };
  const heights = () => sent.flatMap((message) => (message.type === 'heartbeat' ? [message.appliedBlock] : []));
  return { state, sent, posted, faults, open, at, tick, heights };
}

test('on a new stream: auth first, once, then where the replica is; nothing while there is no replica', (t) => {
  const { sent, posted, open, at, tick, heights } = stage(t);
  open();
  tick(0);
  assert.deepEqual(
    sent.map(({ type }) => type),
    ['auth']
  );
  at(5);
  tick(1_000);
  assert.deepEqual(heights(), [5]);
  open();
  tick(1_000);
  assert.deepEqual(
    sent.map(({ type }) => type),
    ['auth', 'heartbeat', 'auth', 'heartbeat'],
    'its successor knows neither'
  );
  assert.deepEqual(posted, []);
});

test('ten blocks are told at the next second, fewer after five, none after thirty', (t) => {
  const { open, at, tick, heights } = stage(t);
  open();
  at(100);
  tick(0);
  at(109);
  tick(1_000);
  assert.deepEqual(heights(), [100]);
  at(110);
  tick(1_000);
  assert.deepEqual(heights(), [100, 110]);
  at(130);
  tick(999);
  assert.deepEqual(heights(), [100, 110], 'at most once a second');
  tick(1);
  at(129);
  tick(4_999);
  assert.deepEqual(heights(), [100, 110, 130]);
  tick(1);
  assert.deepEqual(heights(), [100, 110, 130, 129], 'a reorg counts as a change');
  tick(29_999);
  tick(1);
  assert.deepEqual(heights(), [100, 110, 130, 129, 129]);
});

test('never two within a second, and never more than thirty seconds and a tick without one', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(1_500)), { minLength: 1, maxLength: 60 }), (steps) => {
      const { state, sent, open, at, tick } = stage(t);
      open();
      const times: number[] = [];
      for (const [blocks, pause] of steps) {
        at((state.applied?.height ?? 0) + blocks);
        const before = sent.length;
        tick(pause);
        if (sent.slice(before).some(({ type }) => type === 'heartbeat')) times.push(state.now);
      }
      const pauses = times.slice(1).map((time, index) => time - times[index]!);
      assert.ok(pauses.every((pause) => pause >= 1_000 && pause <= 30_000 + 1_500));
    }),
    { numRuns: 30 }
  );
});

test('by REST while the stream is down, under the validator id; a failure is told and not repeated at once', async (t) => {
  const { state, posted, faults, open, at, tick, heights } = stage(t);
  at(5);
  state.fails = true;
  tick(0);
  await Promise.resolve();
  assert.deepEqual(posted, [{ validator_id: 'v1', applied_height: 5, applied_block_time: 7 }]);
  tick(1_000);
  assert.equal(posted.length, 1);
  await new Promise(setImmediate);
  assert.equal(faults.length, 1);
  tick(29_000);
  assert.equal(posted.length, 2);
  open();
  tick(1_000);
  assert.deepEqual([posted.length, heights()], [2, [5]]);
});

test('no two auth messages of a process have one time, not even from two threads', async () => {
  const identity = validatorIdentity(SEED);
  const path = new URL('../../../../src/replication/client/validator-identity.ts', import.meta.url).href;
  const script = `const { authMessage } = await import(${JSON.stringify(path)});
    const { parentPort, workerData } = await import('node:worker_threads');
    parentPort.postMessage(Array.from({ length: 5 }, () => authMessage(workerData).ts));`;
  const threads = [1, 2].map(async () => {
    const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    new Worker(url, { workerData: identity }).once('message', resolve).once('error', reject);
    return promise;
  });
  const own = Array.from({ length: 5 }, () => authMessage(identity));
  for (const { ts, pubkey, sig } of own) assert.ok(isTimeSigned(ts, { pubkey, sig }));
  const times = [...own.map(({ ts }) => ts), ...(await Promise.all(threads)).flat()];
  assert.equal(new Set(times).size, 15);
  assert.ok(times.every((ts) => Math.abs(ts - Date.now() / 1000) < 30));
});

test('a client without a seed makes one at its first start, keeps it private, and refuses one that is none', async () => {
  const SYNC_STATE_DIR = temporaryDirectory('validator');
  const file = join(SYNC_STATE_DIR, 'validator.seed');
  const config = { SYNC_STATE_DIR, SYNC_VALIDATOR_SEED: undefined, SYNC_VALIDATOR_ID: undefined };
  const first = await openValidatorIdentity(config);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(first.id, /^[0-9a-f]{64}$/);
  assert.deepEqual((await openValidatorIdentity(config)).id, first.id);
  const named = await openValidatorIdentity({ ...config, SYNC_VALIDATOR_ID: 'v7', SYNC_VALIDATOR_SEED: SEED });
  assert.deepEqual([named.id, named.seed], ['v7', SEED]);
  writeFileSync(file, 'garbage');
  await assert.rejects(openValidatorIdentity(config), { code: 'STATE_UNUSABLE', message: /64 hex digits/ });
});
