import { PlatformError } from '../../../errors.ts';

/** Result of one check: it holds, it does not, or it could not be made. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'fault' | 'unknown';
  readonly reason: string;
  /** Steps that end a fault, or that allow the check; null where nothing is to be done. */
  readonly remedy: string | null;
}

/** Returns a check that holds. */
export const ok = (check: string, reason: string): Finding => ({ check, state: 'ok', reason, remedy: null });

/** Returns a check that does not hold. */
export const fault = (check: string, reason: string, remedy: string | null): Finding => ({
  check,
  state: 'fault',
  reason,
  remedy
});

/** Returns a check that could not be made. */
export const unknown = (check: string, reason: string, remedy: string | null = null): Finding => ({
  check,
  state: 'unknown',
  reason,
  remedy
});

/** Returns an error as a check that does not hold, with the remedy of its code. */
export function faultOf(check: string, caught: unknown): Finding {
  const { detail, message, hint } = PlatformError.from(caught);
  return fault(check, String(detail['reason'] ?? message), hint);
}
