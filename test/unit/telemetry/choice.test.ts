import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { telemetryVariables } from '../../../src/config/telemetry.ts';
import { chooseTelemetry } from '../../../src/telemetry/choice.ts';

const choose = (env: Record<string, string>, { optOut = false, isTest = false } = {}) =>
  chooseTelemetry({ isTest }, loadConfig(telemetryVariables, { env }).values, { optOut });
const HUB = { HUB_API_HOST: 'hub.example' };

test('the variable and the file are asked in this order', () => {
  for (const variable of [true, false])
    for (const optOut of [true, false]) {
      const env = { ...HUB, ...(variable ? { PLATFORM_NODE_NO_TELEMETRY: 'yes' } : {}) };
      const { url, reason } = choose(env, { optOut });
      const expected = variable ? /PLATFORM_NODE_NO_TELEMETRY/ : optOut ? /turned off/ : /it is on/;
      assert.match(reason, expected);
      assert.equal(url === null, variable || optOut);
    }
});

test('DO_NOT_TRACK, CI and tests end it; words for no do not', () => {
  for (const env of [{ DO_NOT_TRACK: '1' }, { CI: 'woodpecker' }]) assert.equal(choose({ ...HUB, ...env }).url, null);
  for (const env of [{ DO_NOT_TRACK: '0' }, { CI: 'false' }]) assert.notEqual(choose({ ...HUB, ...env }).url, null);
  assert.equal(choose(HUB, { isTest: true }).url, null);
});

test('it goes to the hub that is configured, or where the variable says; without either nowhere', () => {
  assert.equal(choose(HUB).url, 'http://hub.example:10000/telemetry');
  assert.equal(choose({ HUB_VALIDATORS: '[::1]:7,b:8' }).url, 'http://[::1]:7/telemetry');
  const url = 'https://sink.example/telemetry';
  assert.equal(choose({ ...HUB, PLATFORM_NODE_TELEMETRY_URL: url }).url, url);
  assert.equal(choose({}).url, null);
});
