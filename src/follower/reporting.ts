import { setTimeout as sleep } from 'node:timers/promises';
import type { ActorHost } from '../../actors/runtime/thread/actor-host.ts';

/** Report of a loop, and its listeners. */
interface Reporting<Report extends { readonly state: string }> {
  readonly host: Pick<ActorHost<Record<never, never>, { report: Report }>, 'tell' | 'waiting'>;
  /** Names of what the loop waits for, by state of its machine. In any other state it works. */
  readonly waits: Readonly<Record<string, string>>;
  readonly read: () => Report | Promise<Report>;
  /** Called after each report was sent. */
  readonly onTold: (report: Report) => void;
}

const REPORT_INTERVAL_MS = 250;

/** Tells the main thread the state of a loop, four times a second, until the signal. */
export async function reportUntil<Report extends { readonly state: string }>(
  signal: AbortSignal,
  { host, waits, read, onTold }: Reporting<Report>
): Promise<void> {
  let state = '';
  while (!signal.aborted) {
    const report = await read();
    host.tell('report', report);
    onTold(report);
    if (report.state !== state) host.waiting(waits[report.state] ?? null);
    state = report.state;
    await sleep(REPORT_INTERVAL_MS);
  }
}
