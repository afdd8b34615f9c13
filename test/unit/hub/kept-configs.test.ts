import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptConfigs } from '../../../src/hub/kept-configs.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';

/** Returns the answers about a configuration with an entry of each length, changed at 100, 101 and so on. */
function configsOf(lengths: readonly number[]): KeptConfigs {
  const mark = { seq: 1, watermark: 99 + lengths.length };
  const entries = lengths.map((length, at) => ({
    coin: 'LTC',
    network: 'x',
    module: `m${at}`,
    param: 'user',
    value: 'v'.repeat(length),
    changedAt: 100 + at
  }));
  const answers: Readonly<Record<string, unknown>> = {
    selectConfigState: { head: { ...mark, entries: entries.length }, entries },
    selectConfigMark: mark,
    countConfigs: entries.length
  };
  const read = async (name: string) => answers[name];
  return new KeptConfigs({ read, readOnce: read } as unknown as HubDatabase);
}

const modulesIn = async (configs: KeptConfigs, since: number) =>
  Object.keys((await configs.read(since)).value.configs['LTC']?.['x'] ?? {});

test('answers that are the same, from whatever time on, are one', async () => {
  const configs = configsOf([1, 1, 1]);
  const whole = await configs.read();
  for (let since = 1; since <= 100; since++) assert.equal(await configs.read(since), whole);
  assert.notEqual(await configs.read(100, true), whole);
  assert.deepEqual(await modulesIn(configs, 100), ['m0', 'm1', 'm2']);
  assert.deepEqual(await modulesIn(configs, 101), ['m1', 'm2']);
  assert.deepEqual(await modulesIn(configs, 102), ['m2']);
  assert.deepEqual(await modulesIn(configs, 103), []);
  assert.equal(await configs.read(103), await configs.read(1_000));
  assert.deepEqual(await modulesIn(configsOf([]), 0), []);
});

test('few long answers are kept: who asks from many times on fills no memory', async () => {
  const configs = configsOf([1, 1, 1, 30_000_000]);
  const [first, second] = [await configs.read(100), await configs.read(101)];
  assert.equal(await configs.read(100), first);
  await configs.read(102);
  assert.equal(await configs.read(101), second);
  assert.notEqual(await configs.read(100), first);
});

test('callers without the key, and those of one address, take no place of others who wait for a write', async () => {
  const configs = configsOf([1]);
  const waitOf = (address: string, hasKey: boolean) =>
    configs.reach(2, { address, hasKey }).catch(({ detail }: { detail: { reason: string } }) => detail.reason);
  const isRefused = (reason: string | undefined) => reason !== undefined && /too many wait/.test(reason);
  const crowd = Array.from({ length: 41 }, () => waitOf('stranger', false));
  for (let address = 0; address < 170; address++) crowd.push(waitOf(`stranger ${address}`, false));
  const [more, keyed] = [waitOf('another', false), waitOf('service', true)];
  assert.equal(isRefused((await more) as string), true);
  assert.equal(isRefused((await keyed) as string), false);
  const refused = (await Promise.all(crowd)).filter((reason) => isRefused(reason as string));
  assert.equal(refused.length, 41 + 170 - 200);
});
