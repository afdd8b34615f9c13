import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

const resolved: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    resolved.push(specifier);
    return next(specifier, context);
  }
});

/** The API alone comes with the metrics' library; it does nothing by itself. */
const isTracing = (specifier: string): boolean => /@fastify\/otel|@opentelemetry\/(?!api$)/.test(specifier);

test('a service that traces nothing does not even load what would; with an endpoint it is loaded', async () => {
  await import('../../../src/sync/start.ts');
  assert.ok(resolved.length > 100);
  assert.deepEqual(resolved.filter(isTracing), []);
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
