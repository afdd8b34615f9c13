import { count } from '../../../observe/counters.ts';
import type { Verification } from '../../../wire/state/report.ts';
import { namesOf } from './audit-reason.ts';

/** Whether, why and since when a replica counts as equal to its source. */
export class AuditVerdict {
  readonly #maxAgeMs: number;
  readonly #changed: () => void;
  #state: Verification = 'pending';
  #why = 'no comparison has ended since the start';
  /** Time of the verification, and of the last request to renew it, by `performance.now()`. */
  #verifiedAt = Number.NEGATIVE_INFINITY;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #unconfirmed: readonly string[] = [];
  #differing: readonly string[] = [];

  /** @param maxAgeMs VERIFY_MAX_AGE @param changed called when something that is reported has changed */
  constructor(maxAgeMs: number | undefined, changed: () => void) {
    this.#maxAgeMs = maxAgeMs ?? Number.POSITIVE_INFINITY;
    this.#changed = changed;
  }

  /** The end of the last comparison; `unverified` once it is older than VERIFY_MAX_AGE. */
  get state(): Verification {
    return this.#isOld ? 'unverified' : this.#state;
  }

  /** Reason why the replica is not verified. */
  get why(): string {
    return this.#isOld ? 'the last comparison is older than VERIFY_MAX_AGE' : this.#why;
  }

  /** Tables for which no majority of the sources has the replica's rows. */
  get unconfirmed(): readonly string[] {
    return this.#unconfirmed;
  }

  /** Tables that differed when they were compared last, and that the source has changed since its block. */
  get differing(): readonly string[] {
    return this.#differing;
  }

  get #isOld(): boolean {
    return this.#state === 'verified' && this.#ageMs > this.#maxAgeMs;
  }

  get #ageMs(): number {
    return performance.now() - this.#verifiedAt;
  }

  /** Returns whether half of VERIFY_MAX_AGE is over; true at most once in that time. */
  takeRenewal(): boolean {
    const halfMs = this.#maxAgeMs / 2;
    const isDue = this.#state === 'verified' && this.#ageMs > halfMs && performance.now() - this.#renewedAt > halfMs;
    if (isDue) this.#renewedAt = performance.now();
    return isDue;
  }

  /** Ends a verification, until the next comparison has ended. */
  forget(why: string): void {
    if (this.#state !== 'verified') return;
    this.#state = 'pending';
    this.#why = why;
    this.#changed();
  }

  /** @param at time of the comparison, ISO 8601 */
  verify(at: string): void {
    this.#state = 'verified';
    this.#verifiedAt = performance.now() - Math.max(0, Date.now() - Date.parse(at));
    this.#unconfirmed = [];
    this.#differing = [];
    count('digest.equal');
  }

  refuse(why: string): void {
    this.#state = 'unverified';
    this.#why = why;
    count('digest.unverified');
    this.#changed();
  }

  /** Records why a comparison did not end. @param differing tables that differ, though the source may be about to send them */
  postpone(why: string, differing?: readonly string[]): void {
    this.#differing = differing ?? [];
    if (differing) this.forget(why);
    if (this.#state === 'pending') this.#why = why;
  }

  /** @param isFinal a verification ends; else it stays, since the others are only a block away */
  leaveUnconfirmed(tables: readonly string[], isFinal: boolean): void {
    this.#unconfirmed = tables;
    this.#differing = [];
    if (!isFinal && this.#state === 'verified') return;
    this.#state = 'unverified';
    this.#why = `no majority of the sources has these tables as the replica has them: ${namesOf(tables)}`;
  }
}
