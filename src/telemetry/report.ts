import { randomUUID } from 'node:crypto';
import type { TelemetryConfig } from '../config/telemetry.ts';
import { chooseTelemetry } from './choice.ts';
import { makePing, type PingSubject } from './ping.ts';
import { type Preference, readPreference, writePreference } from './preference.ts';

/** A start that may be reported. */
export interface Start extends Pick<PingSubject, 'version' | 'services' | 'running' | 'network'> {
  readonly config: TelemetryConfig;
  readonly directory: string;
  readonly flag: boolean;
  readonly isTest: boolean;
  /** Shows the notice. */
  readonly print: (line: string) => void;
}

/** Between two pings that only say that a service started. */
const DAY_MS = 24 * 3_600_000;
const SEND_TIMEOUT_MS = 5_000;

/** Shown once, before anything is sent. */
export const NOTICE =
  'platform-node reports which version runs on which system and chain to its hub, at most once a day. Nothing else is sent: `platform-node telemetry show` prints it all. `platform-node telemetry off` or --no-telemetry ends it for good.';

/**
 * Reports a start, when the user agrees and it is time. The attempt is noted before it is made, so that a receiver that is away
 * is asked once a day too.
 *
 * @throws {Error} whatever keeps it from being sent; nobody has to know
 */
export async function reportStart(start: Start): Promise<void> {
  const { config, directory, flag, isTest, version } = start;
  const known = await readPreference(directory);
  if (flag) return await writePreference(directory, { ...known, optOut: true });
  const { url } = chooseTelemetry({ flag, isTest }, config, known);
  const event = eventOf(known, version);
  if (url === null || !isDue(known, event)) return;
  if (!known.noticeShown) start.print(NOTICE);
  const installId = known.installId ?? randomUUID();
  const lastPingAt = new Date().toISOString();
  await writePreference(directory, { ...known, installId, lastPingAt, lastVersion: version, noticeShown: true });
  const ping = await makePing({ ...start, installId, event });
  await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ping),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS)
  });
}

/** What the next ping is about. */
export function eventOf({ installId, lastVersion }: Preference, version: string): 'install' | 'update' | 'start' {
  if (installId === undefined || lastVersion === undefined) return 'install';
  return lastVersion === version ? 'start' : 'update';
}

/** An installation and an update are always told. */
function isDue({ lastPingAt }: Preference, event: string): boolean {
  if (event !== 'start' || lastPingAt === undefined) return true;
  const sinceMs = Date.now() - Date.parse(lastPingAt);
  return !(sinceMs >= 0 && sinceMs < DAY_MS);
}
