import type { Replica } from '../parts/replica.ts';

const LOOK_MS = 250;

/** Tells when blocks of the live stream wait to be applied, and for how long they have. */
export class WaitingBlocks {
  readonly #look: NodeJS.Timeout;
  readonly #some = Promise.withResolvers<null>();
  #since: number | null = null;
  #late: { readonly patienceMs: number; readonly act: () => void } | null = null;

  private constructor(isBehind: () => boolean) {
    this.#look = setInterval(() => {
      this.#since = isBehind() ? (this.#since ?? performance.now()) : null;
      if (this.#since === null) return;
      this.#some.resolve(null);
      if (this.#late && performance.now() - this.#since > this.#late.patienceMs) this.#late.act();
    }, LOOK_MS);
  }

  static async watch({ stream, store }: Pick<Replica, 'stream' | 'store'>): Promise<WaitingBlocks> {
    const subscription = await stream.subscription();
    // What waits may say no more than where the source stands, or what a catch-up has brought.
    return new WaitingBlocks(
      () => subscription.waiting > 0 && (subscription.newest ?? -1) > (store.state.height ?? -1)
    );
  }

  /** Fulfilled when some wait. */
  get some(): Promise<null> {
    return this.#some.promise;
  }

  /** Calls `act` once some have waited for so long; it may be called again. */
  whenLate(patienceMs: number, act: () => void): void {
    this.#late = { patienceMs, act };
  }

  end(): void {
    clearInterval(this.#look);
  }
}
