import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent } from 'xstate';
import { type DecoderEvent, decoderMachine } from '../../machines/decoder/decoder.ts';
import { hasCode, PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { DecoderReport } from './health.ts';
import type { DecoderWork } from './work.ts';

export interface DecoderLoopOptions {
  readonly work: DecoderWork;
  /** What counts attempts at the node that failed. */
  readonly counters: readonly { readonly errorCount: number }[];
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Sees the machine's transitions. */
  readonly inspect?: (inspection: InspectionEvent) => void;
}

const PROBE_LIMIT_MS = 2_000;

/** Writes the blocks of one coin node into one decoder database: does what the machine says, and tells it what came of it. */
export class DecoderLoop {
  readonly #options: DecoderLoopOptions;
  readonly #machine;
  #isReachable: boolean | null = null;

  constructor(options: DecoderLoopOptions) {
    this.#options = options;
    const { inspect, work } = options;
    const input = { maxRollbackDepth: work.undoDepth };
    this.#machine = createActor(decoderMachine, { input, ...(inspect ? { inspect } : {}) });
  }

  /**
   * Works until the signal, and returns after the iteration that is under way, its connections released.
   *
   * @throws {PlatformError} what waiting does not mend: DATABASE_REFUSED, NODE_MISMATCH, INTERNAL
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#machine.send({ type: 'stop.requested' });
    this.#machine.start();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      while (this.#machine.getSnapshot().status === 'active') this.#machine.send(await this.#iterate(signal));
    } finally {
      signal.removeEventListener('abort', stop);
      await this.#options.work.close();
    }
  }

  /** Asks the database whether it answers, beside whatever the loop is doing. */
  async probe(): Promise<void> {
    const { store } = this.#options.work;
    if (store) this.#isReachable = await store.probe(PROBE_LIMIT_MS);
    else if (this.#isReachable !== null) this.#isReachable = false;
  }

  get report(): DecoderReport {
    const { value, context } = this.#machine.getSnapshot();
    return {
      state: typeof value === 'string' ? value : `parsing.${value.parsing}`,
      isDatabaseReachable: this.#isReachable,
      failures: Math.max(context.failures, this.#options.work.fetchFailures),
      rpcErrors: this.#options.counters.reduce((sum, { errorCount }) => sum + errorCount, 0),
      ...this.#options.work.facts
    };
  }

  async #iterate(signal: AbortSignal): Promise<DecoderEvent> {
    const { log, retryDelayMs, work } = this.#options;
    try {
      return await this.#effect(signal);
    } catch (caught) {
      if (signal.aborted) return { type: 'stop.requested' };
      const error = PlatformError.from(caught);
      if (error.policy !== 'restart' || error.code === 'INTERNAL') throw error;
      log.warn({ code: error.code, retryInMs: retryDelayMs, hint: error.hint }, error.message);
      work.distrust();
      await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined);
      return { type: hasCode(error, 'DATABASE_UNAVAILABLE') ? 'database.lost' : 'attempt.failed' };
    }
  }

  /** The effect of the machine's state. */
  #effect(signal: AbortSignal): Promise<DecoderEvent> {
    const { work } = this.#options;
    const { value } = this.#machine.getSnapshot();
    switch (value) {
      case 'connecting':
        return work.connect();
      case 'waitingForNode':
        return work.awaitNode(signal);
      case 'locatingFork':
        return work.locateFork(signal);
      case 'rollingBack':
        return work.rollBack(signal);
      case 'refusing':
        return work.refuse();
      case 'halted':
        return untilAborted(signal);
      case 'stopping':
      case 'stopped':
        return work.close();
      default:
        return value.parsing === 'caughtUp' ? work.watchTip(signal) : work.takeBlocks(signal);
    }
  }
}

/** A halted decoder has nothing to do but to be stopped. */
async function untilAborted(signal: AbortSignal): Promise<DecoderEvent> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return { type: 'stop.requested' };
}
