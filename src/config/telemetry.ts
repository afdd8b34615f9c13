import { hubClientVariables } from './hub-client.ts';
import { parsed, readBaseUrl, text, type Values } from './variables.ts';

/** What decides whether and where usage pings are sent. @see the section "Telemetry sender" of the specification */
export const telemetryVariables = {
  PLATFORM_NODE_TELEMETRY_URL: parsed(readBaseUrl, {
    doc: 'where usage pings go; default: /telemetry of the hub that is configured, and nowhere without one',
    example: 'https://hub.example/telemetry'
  }),
  PLATFORM_NODE_NO_TELEMETRY: text({ doc: '1, true or yes: no usage ping is sent', example: '1' }),
  DO_NOT_TRACK: text({ doc: 'the same for every program that honours it', example: '1' }),
  CI: text({ doc: 'set by systems that test: no usage ping is sent', example: 'true' }),
  HUB_API_HOST: hubClientVariables.HUB_API_HOST,
  HUB_PORT: hubClientVariables.HUB_PORT,
  HUB_VALIDATORS: hubClientVariables.HUB_VALIDATORS
} as const;

export type TelemetryConfig = Values<typeof telemetryVariables>;
