import { PlatformError } from '../../../errors.ts';
import type { Operation } from '../consensus/messages.ts';
import { operationKey } from '../consensus/state.ts';

/** Writes that wait for their answers. */
const MOST_CALLERS = 1_000;

interface Caller {
  readonly number: number;
  /** Signature of its operation: after the loss of a database another one may have the same number. */
  readonly sig: string;
  readonly resolve: (seq: number) => void;
  readonly reject: (reason: PlatformError) => void;
  readonly timer: NodeJS.Timeout;
}

/** The writes of this hub that wait until the log has them. */
export class Callers {
  readonly #callers = new Map<string, Caller>();

  get isFull(): boolean {
    return this.#callers.size >= MOST_CALLERS;
  }

  /**
   * Waits for an operation. @returns the place at which it is applied here
   *
   * @throws {PlatformError} CONSENSUS_TIMEOUT after the patience: it may still be applied  @throws {PlatformError} REQUEST_INVALID
   */
  wait(operation: Operation, patienceMs: number): Promise<number> {
    const { number, sig } = operation;
    const place = operationKey(operation);
    return new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#callers.delete(place);
        reject(new PlatformError('CONSENSUS_TIMEOUT', { id: number }));
      }, patienceMs);
      this.#callers.set(place, { number, sig, resolve, reject, timer });
    });
  }

  /** Answers who waits for an operation that was applied. @param refusal  why all hubs refuse it; null where they do not */
  answer(operation: Operation, seq: number, refusal: string | null): void {
    const caller = this.#take(operationKey(operation));
    if (!caller) return;
    if (caller.sig !== operation.sig)
      caller.reject(new PlatformError('CONSENSUS_TIMEOUT', { reason: 'an earlier write of this hub has its number' }));
    else if (refusal === null) caller.resolve(seq);
    else caller.reject(new PlatformError('REQUEST_INVALID', { reason: refusal }));
  }

  /** Refuses those whose writes are in a state that replaced the log: nobody knows whether they were refused. */
  leaveBelow(next: number): void {
    for (const [place, { number }] of this.#callers)
      if (number < next) this.#take(place)?.reject(new PlatformError('CONSENSUS_TIMEOUT', { id: number }));
  }

  /** Refuses all. */
  leave(reason: PlatformError): void {
    for (const place of this.#callers.keys()) this.#take(place)?.reject(reason);
  }

  #take(place: string): Caller | undefined {
    const caller = this.#callers.get(place);
    this.#callers.delete(place);
    clearTimeout(caller?.timer);
    return caller;
  }
}
