import { hubClientVariables } from './hub-client.ts';
import { parsed, readBaseUrl, text, type Values } from './variables.ts';

/**
 * Variables that decide whether and to which URL usage pings are sent. @see the section "Telemetry sender" of the
 * specification
 */
export const telemetryVariables = {
  PLATFORM_NODE_TELEMETRY_URL: parsed(readBaseUrl, {
    doc: 'URL for usage pings; default: /telemetry of the configured hub; without a hub none are sent',
    example: 'https://hub.example/telemetry'
  }),
  PLATFORM_NODE_NO_TELEMETRY: text({ doc: '1, true or yes: no usage ping is sent', example: '1' }),
  DO_NOT_TRACK: text({ doc: '1, true or yes: no usage ping is sent, by any program that honours it', example: '1' }),
  CI: text({ doc: 'set by CI systems: no usage ping is sent', example: 'true' }),
  HUB_API_HOST: hubClientVariables.HUB_API_HOST,
  HUB_PORT: hubClientVariables.HUB_PORT,
  HUB_VALIDATORS: hubClientVariables.HUB_VALIDATORS
} as const;

/** Values of `telemetryVariables`. */
export type TelemetryConfig = Values<typeof telemetryVariables>;
