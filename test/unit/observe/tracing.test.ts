import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { silentLogger } from '../../../src/log.ts';

const resolved: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    resolved.push(specifier);
    return next(specifier, context);
  }
});

/** The API alone comes with the metrics' library; it does nothing by itself. */
const isTracing = (specifier: string): boolean => /@fastify\/otel|@opentelemetry\/(?!api$)/.test(specifier);

/** Packages of streams; a server that publishes none loads none. */
const isStreaming = (specifier: string): boolean => specifier.startsWith('@nats-io/');

test('a service that traces nothing does not even load what would; with an endpoint it is loaded', async () => {
  await import('../../../src/sync/start.ts');
  assert.ok(resolved.length > 100);
  assert.deepEqual(resolved.filter(isTracing), []);
  assert.deepEqual(resolved.filter(isStreaming), []);
  const { openTracing } = await import('../../../src/observe/tracing.ts');
  assert.ok(resolved.some(isTracing));
  const tracing = openTracing('http://127.0.0.1:9', { name: 'test', version: '0' });
  assert.equal(await tracing.step('a step', {}, async () => 5), 5);
  await assert.rejects(
    tracing.step('a step that fails', {}, async () => Promise.reject(new Error('its own error'))),
    /its own error/
  );
  await tracing.close(); // nobody takes the spans: that is no fault of the service
});

test('without SYNC_NATS_URL no package of NATS is loaded; with it, what connects is', async () => {
  const { openRelay } = await import('../../../src/sync/relay/open.ts');
  const config = {
    SYNC_MODE: 'server',
    SYNC_NATS_CREDS: undefined,
    SYNC_NATS_TOKEN: undefined,
    SYNC_NATS_REPLICAS: 1,
    SYNC_RELAY_KEEP: 1_000,
    SYNC_RELAY_MAX_BYTES: 2 ** 20,
    SYNC_RELAY_BACKLOG_BYTES: 2 ** 20,
    SYNC_STATE_DIR: '/nonexistent'
  } as const;
  assert.equal(
    openRelay({ ...config, SYNC_NATS_URL: undefined }, silentLogger, () => true),
    null
  );
  assert.equal(
    openRelay({ ...config, SYNC_MODE: 'client', SYNC_NATS_URL: ['nats://127.0.0.1:9'] }, silentLogger, () => true),
    null
  );
  assert.deepEqual(resolved.filter(isStreaming), []);
  const relay = openRelay({ ...config, SYNC_NATS_URL: ['nats://127.0.0.1:9'] }, silentLogger, () => true);
  await relay?.close();
  assert.ok(resolved.some(isStreaming));
});
