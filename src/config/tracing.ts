import { choice, flag, list, parsed, readBaseUrl, text, type Values } from './variables.ts';

/** Rules by which OpenTelemetry decides which traces are kept. */
const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio'
] as const;

/** Reads `key=value`, with the value percent-encoded. */
function readPair(entry: string): readonly [name: string, value: string] {
  const [, name, encoded] = /^([^=\s]+)\s*=\s*(.*)$/.exec(entry) ?? [];
  const fault = new Error('must be entries such as key=value, divided by commas, with values percent-encoded');
  if (name === undefined || encoded === undefined) throw fault;
  try {
    return [name, decodeURIComponent(encoded)];
  } catch {
    throw fault;
  }
}

function readRatio(value: string): number {
  const ratio = /^(0|1|0?\.\d+|[01]\.\d*)$/.test(value) ? Number(value) : Number.NaN;
  if (!(ratio >= 0 && ratio <= 1)) throw new Error('must be a number from 0 to 1');
  return ratio;
}

/**
 * Variables of traces, which every service has, under OpenTelemetry's own names.
 *
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: parsed(readBaseUrl, {
    doc: 'base URL of an OpenTelemetry collector (OTLP by HTTP) for traces; unset: no traces',
    example: 'http://127.0.0.1:4318'
  }),
  OTEL_EXPORTER_OTLP_HEADERS: list(readPair, {
    doc: 'header fields that are sent to the collector: key=value, divided by commas, with values percent-encoded',
    example: 'authorization=Bearer%20TOKEN',
    secret: true
  }),
  OTEL_SERVICE_NAME: text({
    doc: 'name of this service in traces; unset: such as platform-node decoder',
    example: 'decoder-litecoin'
  }),
  OTEL_RESOURCE_ATTRIBUTES: list(readPair, {
    doc: 'attributes of this service in traces: key=value, divided by commas, with values percent-encoded',
    example: 'deployment.environment.name=production'
  }),
  OTEL_TRACES_SAMPLER: choice(SAMPLERS, {
    default: 'parentbased_always_on',
    doc: "which traces are kept: parentbased_ follows the caller's decision; always_on, always_off, traceidratio"
  }),
  OTEL_TRACES_SAMPLER_ARG: parsed(readRatio, {
    doc: 'part of the traces that traceidratio keeps, from 0 to 1',
    example: '0.1'
  }),
  OTEL_SDK_DISABLED: flag({ default: false, doc: 'true: no traces, whatever the others say' })
} as const;

/** Values of `tracingVariables`. */
export type TracingConfig = Values<typeof tracingVariables>;
