import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TelemetryConfig } from '../config/telemetry.ts';
import { chooseTelemetry } from './choice.ts';
import { makePing, type PingSubject } from './ping.ts';
import { changePreference, type Preference, readPreference, type Start } from './preference.ts';

/** A start that may be reported. */
interface StartReport extends Pick<PingSubject, 'version' | 'services'> {
  readonly start: Start;
  readonly config: TelemetryConfig;
  readonly directory: string;
  readonly isTest: boolean;
  /** Shows the notice. */
  readonly print: (line: string) => void;
}

/** Least time between two pings that only say that a service started. */
const DAY_MS = 24 * 3_600_000;
/** Services that start together are reported together. */
const TOGETHER_MS = 2_000;
const SEND_TIMEOUT_MS = 5_000;
/** Services that are remembered for one home; a ping has room for as many, and for services that do not run. */
const MOST_STARTS = 64;

/** Shown once, before anything is sent. */
const NOTICE =
  'platform-node reports to its hub, under a random id, its version, which services run for which chain, system, architecture and container engine: once installed or updated, else at most once a day. Nothing else is sent: `platform-node telemetry show <service>` prints it all. `platform-node telemetry off` or --no-telemetry ends it for good.';

/**
 * Reports a start, when the user agrees and it is time. The attempt is noted before it is made, so that a receiver that is away
 * is asked once a day too.
 *
 * @throws {Error} whatever keeps it from being sent; nobody has to know
 */
export async function reportStart({
  start,
  config,
  directory,
  isTest,
  version,
  services,
  print
}: StartReport): Promise<void> {
  const urlOf = (known: Preference) => chooseTelemetry({ isTest }, config, known).url;
  if (urlOf(await readPreference(directory)) === null) return;
  await changePreference(directory, (known) => [{ ...known, starts: runningWith(known, start) }, undefined]);
  await sleep(TOGETHER_MS, undefined, { ref: false });
  const due = await changePreference(directory, (known) => {
    const [url, event] = [urlOf(known), eventOf(known, version)];
    if (url === null || !isDue(known, event)) return [known, null];
    if (!known.noticeShown) print(NOTICE);
    const installId = known.installId ?? randomUUID();
    const lastPingAt = new Date().toISOString();
    const next = { ...known, installId, lastPingAt, lastVersion: version, noticeShown: true };
    return [next, { url, installId, event, running: runningWith(known, start) }];
  });
  if (due === null) return;
  const { url, ...subject } = due;
  await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(await makePing({ ...subject, version, services })),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS)
  });
}

/** Returns the services that run: this one, and those noted before whose guardians are there. */
export function runningWith({ starts = [] }: Preference, start?: Start): Start[] {
  const isOther = ({ service, network }: Start) => service !== start?.service || network !== start.network;
  const others = starts.filter((each) => isOther(each) && isAlive(each.pid));
  return [...others, ...(start ? [start] : [])].slice(-MOST_STARTS);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the event that the next ping reports. */
export function eventOf({ installId, lastVersion }: Preference, version: string): 'install' | 'update' | 'start' {
  if (installId === undefined || lastVersion === undefined) return 'install';
  return lastVersion === version ? 'start' : 'update';
}

/** Returns whether a ping is due; an installation and an update always are. */
function isDue({ lastPingAt }: Preference, event: string): boolean {
  if (event !== 'start' || lastPingAt === undefined) return true;
  const sinceMs = Date.now() - Date.parse(lastPingAt);
  return !(sinceMs >= 0 && sinceMs < DAY_MS);
}
