import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type PromiseActorLogic, toPromise } from 'xstate';
import { Effects, type EffectsOptions } from '../../../../actors/runtime/thread/effects.ts';
import { PlatformError } from '../../../../src/errors.ts';

const open = (options: Partial<EffectsOptions> = {}) =>
  new Effects({ toFault: (caught) => PlatformError.from(caught), ...options });

const begin = <Output>(logic: PromiseActorLogic<Output, void>) => createActor(logic).start();

const broken = new PlatformError('DATABASE_UNAVAILABLE', { reason: 'broken' });

test('one at a time, in the order in which they began', async () => {
  const effects = open();
  const lines: string[] = [];
  const slow = effects.effect('slow', async () => {
    await sleep(20);
    lines.push('slow');
    return 1;
  });
  const quick = effects.effect('quick', async () => lines.push('quick'));
  const actors = [begin(slow), begin(quick)];
  assert.deepEqual(await Promise.all(actors.map(toPromise)), [1, 2]);
  assert.deepEqual(lines, ['slow', 'quick']);
});

test('an effect whose state is left is cancelled; the next begins when it has ended', async () => {
  const effects = open();
  const lines: string[] = [];
  const held = begin(
    effects.effect('held', async (signal) => {
      await sleep(60_000, undefined, { signal }).catch(() => sleep(20));
      lines.push('held ended');
      return 1;
    })
  );
  await sleep(1);
  held.stop();
  await toPromise(begin(effects.effect('next', async () => lines.push('next'))));
  assert.deepEqual(lines, ['held ended', 'next']);
});

test('one that is cancelled before its turn never begins', async () => {
  const effects = open();
  const first = begin(effects.effect('first', () => sleep(10, 1)));
  let began = false;
  const waiting = begin(
    effects.effect('waiting', async () => {
      began = true;
      return 1;
    })
  );
  waiting.stop();
  await toPromise(first);
  await effects.ended;
  assert.equal(began, false);
});

test('an attempt that leads nowhere is made again after a pause, and each is admitted', async () => {
  const pauses: (PlatformError | null)[] = [];
  let admitted = 0;
  const effects = open({
    admit: async () => void admitted++,
    isRetried: () => true,
    pauseMs: (tookMs, fault) => {
      assert.ok(tookMs >= 0);
      pauses.push(fault);
      return 1;
    }
  });
  const attempts = [() => null, () => Promise.reject(broken), () => 'found'];
  const effect = effects.effect<string>('poll', async () => attempts.shift()!());
  assert.equal(await toPromise(begin(effect)), 'found');
  assert.deepEqual(pauses, [null, broken]);
  assert.equal(admitted, 3);
});

test('a fault counts until the effect that met it goes well, or one that proves all well', async () => {
  const effects = open({ proofs: ['proof'] });
  const fails = () => assert.rejects(toPromise(begin(effects.effect('work', () => Promise.reject(broken)))));
  const works = (name: string) => toPromise(begin(effects.effect(name, async () => 1)));
  await fails();
  await fails();
  await works('other');
  assert.deepEqual([effects.faultCount, effects.lastFault], [2, broken.message]);
  await works('work');
  assert.deepEqual([effects.faultCount, effects.lastFault], [0, null]);
  await fails();
  await works('proof');
  assert.deepEqual([effects.faultCount, effects.lastFault], [0, null]);
});

test('the machine is told what the fault became; a cancelled effect has none', async () => {
  const named = new PlatformError('SOURCE_UNREACHABLE', { reason: 'named' });
  const seen: string[] = [];
  const effects = open({
    toFault: () => named,
    onFault: (fault, effect, isNew) => seen.push(`${effect}: ${fault.message}, ${isNew ? 'new' : 'again'}`)
  });
  for (const _ of [1, 2])
    await assert.rejects(toPromise(begin(effects.effect('work', () => Promise.reject(broken)))), named);
  const cancelled = begin(effects.effect('cancelled', (signal) => sleep(60_000, 1, { signal })));
  await sleep(1);
  cancelled.stop();
  await effects.ended;
  assert.deepEqual(seen, [`work: ${named.message}, new`, `work: ${named.message}, again`]);
});
