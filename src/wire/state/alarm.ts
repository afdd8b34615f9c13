import Type, { type Static } from 'typebox';
import type { PlatformError } from '../../errors.ts';

/** Reason why a loop does not go on, while it tries. It ends with its cause. */
export interface Alarm {
  /** Code in the table ERRORS. */
  readonly code: string;
  readonly reason: string;
  readonly remedy: string;
  /** As monotonicMs() tells it. */
  readonly since: number;
}

/** An alarm as probes tell it. */
export const AlarmSchema = Type.Object(
  {
    code: Type.String(),
    reason: Type.String(),
    remedy: Type.String(),
    for_s: Type.Integer({ description: 'seconds since it began' })
  },
  { description: 'why it waits, and what to do; it ends by itself' }
);

/** Addresses and accounts within a driver's text: probes are open to everyone, the log has it in full. */
const PLACES = /'[^']*'@'[^']*'|(?:ENOTFOUND|EAI_AGAIN) \S+|\S*(?:\d{1,3}\.){3}\d{1,3}\S*|\S+:\d{2,5}\b/g;

/** Returns the alarm of an error. @param now monotonicMs() @param before  the present alarm; one of the same code keeps its beginning */
export function alarmOf({ code, detail, message, hint }: PlatformError, before: Alarm | null, now: number): Alarm {
  const reason = String(detail['reason'] ?? message).replace(PLACES, '…');
  return { code, reason, remedy: hint, since: before?.code === code ? before.since : now };
}

/** Codes of the faults of one statement: it fails again, whatever else succeeds meanwhile. */
const OF_STATEMENT: ReadonlySet<string | undefined> = new Set(['ROWS_REFUSED', 'STATEMENT_TOO_SLOW']);

/** Returns whether an alarm is about one statement that MariaDB refuses, or ends at its limit. */
export function isOfStatement(alarm: Pick<Alarm, 'code'> | null | undefined): boolean {
  return OF_STATEMENT.has(alarm?.code);
}

/** Returns an alarm as one sentence; null of none. */
export function alarmText(alarm: Alarm | null | undefined): string | null {
  return alarm ? `${alarm.reason}; ${alarm.remedy}` : null;
}

/** Returns for how many seconds the service upstream has not gone on; 0 while it does. @param now as monotonicMs() tells it */
export function stoppedS(alarm: Alarm | null | undefined, now: number): number {
  return alarm?.code === 'UPSTREAM_STOPPED' ? (toldAlarm(alarm, now).alarm?.for_s ?? 0) : 0;
}

/** Returns what probes tell of an alarm at a moment; nothing of none. @param now as monotonicMs() tells it */
export function toldAlarm(
  alarm: Alarm | null | undefined,
  now: number
): { readonly alarm?: Static<typeof AlarmSchema> } {
  if (!alarm) return {};
  const { since, ...fields } = alarm;
  return { alarm: { ...fields, for_s: Math.max(0, Math.floor((now - since) / 1000)) } };
}
