import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDecoderApp } from '../../../src/decoder/app.ts';
import type { DecoderView } from '../../../src/decoder/health.ts';
import { monotonicMs } from '../../../src/wire/state/monotonic.ts';
import { atEnd } from '../../support/cleanup.ts';
import { definitionOf, FRAME_CONFIG } from '../../support/frame.ts';

const PROXY = '10.0.0.1';
const report = () => ({
  state: 'parsing.caughtUp',
  isDatabaseReachable: true,
  lastProcessedBlock: 99,
  nodeHeight: 100,
  nodePolledAt: monotonicMs(),
  progressAt: monotonicMs(),
  failures: 0,
  rpcErrors: 0,
  parseErrors: 0,
  haltReason: null
});

/** A front door with a budget of three requests, behind one proxy. */
function openApp(view: () => DecoderView = () => ({ report: report(), crash: null })) {
  const app = createDecoderApp({
    ...definitionOf(),
    config: {
      ...FRAME_CONFIG,
      TRUST_PROXY: [PROXY],
      DECODER_API_KEY: undefined,
      DECODER_RATE_LIMIT_RPM: 3,
      DECODER_STALL_ALERT_MS: 900_000,
      DECODER_STALL_FETCH_ATTEMPTS: 20
    },
    view,
    serves: () => false
  });
  atEnd(() => app.close());
  return app;
}

test('the probes answer 503 while something is wrong', async () => {
  const good = report();
  for (const [view, status, live] of [
    [{ report: good, crash: null }, 200, 200],
    [{ report: good, crash: 'out of memory' }, 503, 503],
    [{ report: { ...good, isDatabaseReachable: false }, crash: null }, 503, 503],
    [{ report: { ...good, failures: 20 }, crash: null }, 200, 503],
    [{ report: null, crash: null }, 503, 503]
  ] as const) {
    const app = openApp(() => view);
    const asked = await Promise.all(['/status', '/live'].map((url) => app.inject(url)));
    assert.deepEqual(
      asked.map(({ statusCode }) => statusCode),
      [status, live],
      JSON.stringify(view)
    );
  }
});

test('probes from the same machine and of a listed proxy are not limited, those of others are', async () => {
  const app = openApp();
  const statusesOf = async (remoteAddress: string, headers: Record<string, string> = {}) => {
    const found: number[] = [];
    for (let asked = 0; asked < 5; asked++) {
      found.push((await app.inject({ url: asked % 2 ? '/status' : '/live', remoteAddress, headers })).statusCode);
    }
    return found;
  };
  const free = [200, 200, 200, 200, 200];
  const limited = [200, 200, 200, 429, 429];
  assert.deepEqual(await statusesOf('127.0.0.1'), free);
  assert.deepEqual(await statusesOf('::1'), free);
  assert.deepEqual(await statusesOf(PROXY), free);
  assert.deepEqual(await statusesOf('192.0.2.1'), limited);
  assert.deepEqual(await statusesOf(PROXY, { 'x-forwarded-for': '192.0.2.2' }), limited);
});

test('a budget of calls by address, and bodies up to 100,000 bytes', async () => {
  const app = openApp();
  const call = async (remoteAddress: string, sizeBytes = 0) => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'ping', id: 1 }).padEnd(sizeBytes);
    const headers = { 'content-type': 'application/json' };
    const { statusCode, payload } = await app.inject({ method: 'POST', url: '/', remoteAddress, headers, body });
    return [statusCode, (JSON.parse(payload) as { error?: { code: number } }).error?.code];
  };
  assert.deepEqual(await call('192.0.2.1', 100_000), [200, undefined]);
  assert.equal((await call('192.0.2.1', 100_001))[0], 413);
  for (let more = 0; more < 2; more++) assert.deepEqual(await call('192.0.2.3'), [200, undefined]);
  await call('192.0.2.3');
  assert.equal((await call('192.0.2.3'))[1], -32_029);
  assert.deepEqual(await call('192.0.2.4'), [200, undefined]);
});
