import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { loadConfig } from '../../../src/config/load.ts';
import { tracingVariables } from '../../../src/config/tracing.ts';
import { silentLogger } from '../../../src/log.ts';
import { startCollector } from '../../support/collector.ts';

const resolved: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    resolved.push(specifier);
    return next(specifier, context);
  }
});

/** The API alone comes with the metrics' library; it does nothing by itself. */
const isTracing = (specifier: string): boolean => /@fastify\/otel|@opentelemetry\/(?!api$)/.test(specifier);

/** Reads variables of traces as a service does. */
function configured(env: Readonly<Record<string, string>>) {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  return loadConfig(tracingVariables, { env: { ...endpoint, ...env } }).values;
}

/** Packages of streams; a server that publishes none loads none. */
const isStreaming = (specifier: string): boolean => specifier.startsWith('@nats-io/');

test('a service that traces nothing does not even load what would; with an endpoint it is loaded', async () => {
  await import('../../../src/sync/start.ts');
  assert.ok(resolved.length > 100);
  assert.deepEqual(resolved.filter(isTracing), []);
  assert.deepEqual(resolved.filter(isStreaming), []);
  const { openTracing } = await import('../../../src/observe/tracing.ts');
  assert.ok(resolved.some(isTracing));
  const tracing = openTracing({
    endpoint: 'http://127.0.0.1:9',
    headers: {},
    resource: { 'service.name': 'test' },
    sampler: 'always_on',
    ratio: 1
  });
  assert.equal(await tracing.step('a step', {}, async () => 5), 5);
  await assert.rejects(
    tracing.step('a step that fails', {}, async () => Promise.reject(new Error('its own error'))),
    /its own error/
  );
  await tracing.close(); // nobody takes the spans: that is no fault of the service
});

test('traces have the name, attributes and header fields that OpenTelemetry gives variables', async () => {
  const { openServiceBase } = await import('../../../src/service/life/base.ts');
  const { createMetrics } = await import('../../../src/observe/metrics/metrics.ts');
  const { url, spans } = await startCollector();
  const trace = async (step: string, env: Readonly<Record<string, string>>) => {
    const config = configured({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
    const base = await openServiceBase('test', config, createMetrics({ service: 'test', actors: () => [] }));
    await base.trace.step(step, {}, async () => undefined);
    await base.close();
    return spans.find(({ name }) => name === step);
  };
  const plain = await trace('plain', {});
  assert.equal(plain?.service, 'platform-node test');
  assert.equal(plain?.resource['service.version'], manifest.version);
  const named = await trace('named', {
    OTEL_SERVICE_NAME: 'mine',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other, deployment.environment.name=a%2Cb',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x'
  });
  assert.equal(named?.service, 'mine');
  assert.equal(named?.resource['deployment.environment.name'], 'a,b');
  assert.equal(named?.headers['authorization'], 'Bearer x');
  const instances = [plain, named].map((span) => span?.resource['service.instance.id']);
  assert.match(String(instances[0]), /^[0-9a-f-]{36}$/);
  assert.notEqual(instances[0], instances[1]);
  const sampled = async (sampler: string, ratio = '') =>
    (await trace(`${sampler} ${ratio}`, {
      OTEL_TRACES_SAMPLER: sampler,
      ...(ratio && { OTEL_TRACES_SAMPLER_ARG: ratio })
    })) !== undefined;
  for (const sampler of ['always_on', 'parentbased_always_on']) assert.ok(await sampled(sampler), sampler);
  for (const sampler of ['always_off', 'parentbased_always_off']) assert.ok(!(await sampled(sampler)), sampler);
  for (const sampler of ['traceidratio', 'parentbased_traceidratio'])
    assert.deepEqual(
      [await sampled(sampler, '0'), await sampled(sampler, '1'), await sampled(sampler)],
      [false, true, true]
    );
});

test('with OTEL_SDK_DISABLED nothing is traced, whatever else is set', async () => {
  const { openServiceBase } = await import('../../../src/service/life/base.ts');
  const { createMetrics } = await import('../../../src/observe/metrics/metrics.ts');
  const open = (env: Readonly<Record<string, string>>) =>
    openServiceBase('test', configured(env), createMetrics({ service: 'test', actors: () => [] }));
  assert.equal((await open({ OTEL_SDK_DISABLED: 'true' })).tracing, undefined);
  const traced = await open({ OTEL_SDK_DISABLED: 'false' });
  assert.notEqual(traced.tracing, undefined);
  await traced.close();
});

test('variables of traces that cannot be read are refused by name', () => {
  for (const [name, value] of [
    ['OTEL_RESOURCE_ATTRIBUTES', 'nothing'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%'],
    ['OTEL_EXPORTER_OTLP_HEADERS', '=x'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_SDK_DISABLED', 'perhaps']
  ] as const)
    assert.throws(() => configured({ [name]: value }), new RegExp(name), `${name}=${value}`);
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
