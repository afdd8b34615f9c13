import { createActor, type InspectionEvent } from 'xstate';
import { type MempoolEvent, mempoolMachine } from '../../machines/decoder/mempool.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { MempoolPass } from './mempool-pass.ts';

export interface MempoolLoopOptions {
  readonly pass: Pick<MempoolPass, 'list' | 'fetch' | 'save'>;
  /** Default 60 s. */
  readonly restMs?: number;
  readonly log: Logger;
  /** Sees the machine's transitions. */
  readonly inspect?: (inspection: InspectionEvent) => void;
}

const REST_MS = 60_000;

/** Keeps the mempool's table while the decoder is synced: does what its machine says, and tells it what came of it. */
export class MempoolLoop {
  readonly #options: MempoolLoopOptions;
  readonly #machine;
  #effect = new AbortController();
  #state = '';

  constructor(options: MempoolLoopOptions) {
    this.#options = options;
    const { inspect, restMs = REST_MS } = options;
    this.#machine = createActor(mempoolMachine, { input: { restMs }, ...(inspect ? { inspect } : {}) });
    this.#machine.subscribe(({ value }) => this.#enter(value));
    this.#machine.start();
  }

  get state(): string {
    return this.#state;
  }

  /** Within a few blocks of the tip the mempool is looked at; otherwise what is under way is cancelled. */
  setSynced(isSynced: boolean): void {
    if (isSynced === (this.#state === 'paused')) this.#machine.send({ type: 'lag.changed', isSynced });
  }

  stop(): void {
    this.#machine.send({ type: 'stop.requested' });
  }

  #enter(state: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#effect.abort();
    this.#effect = new AbortController();
    void this.#run(state, this.#effect.signal);
  }

  async #run(state: string, signal: AbortSignal): Promise<void> {
    let event: MempoolEvent | undefined;
    try {
      event = await this.#eventOf(state, signal);
    } catch (caught) {
      const error = PlatformError.from(caught);
      if (!signal.aborted) this.#options.log.warn({ code: error.code, hint: error.hint }, `mempool: ${error.message}`);
      event = { type: 'pass.failed' };
    }
    if (event && !signal.aborted) this.#machine.send(event);
  }

  /** The effect of a state; undefined where it only waits. */
  async #eventOf(state: string, signal: AbortSignal): Promise<MempoolEvent | undefined> {
    const { pass } = this.#options;
    switch (state) {
      case 'listing':
        return { type: 'pool.listed', waiting: await pass.list(signal) };
      case 'fetching':
        await pass.fetch(signal);
        return { type: 'batch.fetched' };
      case 'storing':
        return { type: 'batch.stored', waiting: await pass.save() };
      default:
        return undefined;
    }
  }
}
