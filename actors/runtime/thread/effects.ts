import { setTimeout as sleep } from 'node:timers/promises';
import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { PlatformError } from '../../../src/errors.ts';

export interface EffectsOptions {
  /** Releases what a failed attempt broke, and makes a fault of what it threw. */
  readonly toFault: (caught: unknown) => PlatformError;
  /** Called when the fault is counted. @param isNew its message is not that of the fault before it */
  readonly onFault?: (fault: PlatformError, effect: string, isNew: boolean) => void;
  /** Called after each attempt that went well. */
  readonly onSuccess?: (effect: string) => void;
  /** Waited for before each attempt. */
  readonly admit?: (signal: AbortSignal) => Promise<void>;
  /** Whether an effect is retried after a fault; otherwise the machine gets the fault. Default: never. */
  readonly isRetried?: (fault: PlatformError, effect: string) => boolean;
  /**
   * Pause before another attempt at the same effect, by the duration of the last one; both in milliseconds. Default: none.
   *
   * @param fault null: the attempt led nowhere
   */
  readonly pauseMs?: (tookMs: number, fault: PlatformError | null) => number;
  /** Effects whose success says that all is well; that of any other ends its own fault only. */
  readonly proofs?: readonly string[];
}

/**
 * The effects of one machine, for the `invoke` of its states: one at a time, cancelled when its state is left. The next begins when the
 * one before it has ended.
 */
export class Effects {
  readonly #options: EffectsOptions;
  #running: Promise<unknown> = Promise.resolve();
  #faultCount = 0;
  #lastFault: { readonly message: string; readonly effect: string } | null = null;

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  /** Faults since all was well. */
  get faultCount(): number {
    return this.#faultCount;
  }

  /** The last one's message; null while all is well. */
  get lastFault(): string | null {
    return this.#lastFault?.message ?? null;
  }

  /** Fulfilled when the effect under way has ended. */
  get ended(): Promise<unknown> {
    return this.#running;
  }

  /**
   * Returns the logic of one effect.
   *
   * @param attempt its output ends the effect; null: it led nowhere, and another is made after a pause
   */
  effect<Output, Input = void>(
    name: string,
    attempt: (signal: AbortSignal, input: Input) => Promise<Output | null>
  ): PromiseActorLogic<Output, Input> {
    return fromPromise<Output, Input>(({ input, signal }) => {
      const turn = this.#running.then(async () => {
        for (;;) {
          signal.throwIfAborted();
          await this.#options.admit?.(signal);
          const began = performance.now();
          const { output, fault } = await this.#attempt(name, () => attempt(signal, input), signal);
          if (output !== null) return output;
          const pauseMs = this.#options.pauseMs?.(performance.now() - began, fault) ?? 0;
          if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
        }
      });
      this.#running = turn.catch(() => undefined); // the machine gets the fault
      return turn;
    });
  }

  /** @throws {PlatformError} the fault, for the machine */
  async #attempt<Output>(
    effect: string,
    attempt: () => Promise<Output | null>,
    signal: AbortSignal
  ): Promise<{ readonly output: Output | null; readonly fault: PlatformError | null }> {
    const { toFault, onFault, onSuccess, isRetried } = this.#options;
    try {
      const output = await attempt();
      this.#wentWell(effect);
      onSuccess?.(effect);
      return { output, fault: null };
    } catch (caught) {
      if (signal.aborted) throw caught;
      const fault = toFault(caught);
      const isNew = fault.message !== this.lastFault;
      this.#faultCount++;
      this.#lastFault = { message: fault.message, effect };
      onFault?.(fault, effect, isNew);
      if (isRetried?.(fault, effect)) return { output: null, fault };
      throw fault;
    }
  }

  #wentWell(effect: string): void {
    if (effect !== this.#lastFault?.effect && !this.#options.proofs?.includes(effect)) return;
    this.#lastFault = null;
    this.#faultCount = 0;
  }
}
