import type { PlatformError } from '../errors.ts';
import { type Alarm, alarmOf, isOfStatement } from '../wire/state/alarm.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';

/** Alarm about the effects of a loop that fail, from the first failure until all is well. */
export class FaultAlarm {
  readonly #writing: ReadonlySet<string>;
  #fault: { readonly effect: string; readonly alarm: Alarm } | null = null;

  /** @param writing effects whose success shows that the database takes statements again */
  constructor(writing: readonly string[] = []) {
    this.#writing = new Set(writing);
  }

  get current(): Alarm | null {
    return this.#fault?.alarm ?? null;
  }

  note(fault: PlatformError, effect: string): void {
    this.#fault = { effect, alarm: alarmOf(fault, this.current, monotonicMs()) };
  }

  /**
   * Ends the alarm after an effect that succeeded. Refused rows are refused again, and a slow statement is slow again:
   * nothing but the same effect ends that, or one that writes.
   *
   * @param isWell whether no other fault counts
   */
  end(effect: string, isWell: boolean): void {
    const isProof = effect === this.#fault?.effect || this.#writing.has(effect);
    if (isWell && (isProof || !isOfStatement(this.#fault?.alarm))) this.#fault = null;
  }
}
