import { hubsOf } from '../config/hub-client.ts';
import type { TelemetryConfig } from '../config/telemetry.ts';
import type { Preference } from './preference.ts';

/** Whether pings are sent, and why. */
interface TelemetryChoice {
  /** Address that pings go to; null: none are sent. */
  readonly url: string | null;
  /** A sentence without a full stop. */
  readonly reason: string;
}

const off = (reason: string): TelemetryChoice => ({ url: null, reason });

/**
 * Decides whether pings are sent, in this order: PLATFORM_NODE_NO_TELEMETRY, the remembered preference, DO_NOT_TRACK
 * and CI, a test run, the address. A start with `--no-telemetry` has been remembered as a preference.
 *
 * @param isTest whether a test runner began this process
 */
export function chooseTelemetry(
  { isTest }: { readonly isTest: boolean },
  config: TelemetryConfig,
  { optOut }: Preference
): TelemetryChoice {
  if (/^(?:1|true|yes)$/i.test(config.PLATFORM_NODE_NO_TELEMETRY ?? ''))
    return off('PLATFORM_NODE_NO_TELEMETRY is set');
  if (optOut) return off('it was turned off; platform-node telemetry on turns it on');
  for (const name of ['DO_NOT_TRACK', 'CI'] as const) if (isSet(config[name])) return off(`${name} is set`);
  if (isTest) return off('a test runs');
  if (config.PLATFORM_NODE_TELEMETRY_URL) return { url: config.PLATFORM_NODE_TELEMETRY_URL, reason: 'it is on' };
  const [hub] = hubsOf({ ...config, HUB_API_KEY: undefined, MAX_HUB_WAIT_MS: 0 });
  if (!hub) return off('no hub is configured');
  const host = hub.host.includes(':') ? `[${hub.host}]` : hub.host;
  return { url: `http://${host}:${hub.port}/telemetry`, reason: 'it is on' };
}

/** Returns whether a variable is set; words that turn it off count as unset. */
function isSet(text: string | undefined): boolean {
  return text !== undefined && !/^(?:|0|false|no|off)$/i.test(text);
}
