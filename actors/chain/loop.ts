import { createActor, type InspectionEvent, waitFor } from 'xstate';
import type { decoderMachine } from '../../machines/chain/chain-writer.ts';
import type { ChainReport } from '../../src/chain/report.ts';
import type { BlockStore, ChainWork } from '../../src/chain/work.ts';
import { PlatformError } from '../../src/errors.ts';
import type { Logger } from '../../src/log.ts';
import { stateText } from '../runtime/observe.ts';
import { Effects } from '../runtime/thread/effects.ts';

/** The work of a loop, for any kind of block. */
type AnyWork = Omit<ChainWork<never, never>, 'store'> & {
  readonly store: Pick<BlockStore<never>, 'database'> | undefined;
};

export interface ChainLoopOptions {
  readonly machine: typeof decoderMachine;
  readonly work: AnyWork;
  /** What counts attempts at the node that failed. */
  readonly counters: readonly { readonly errorCount: number }[];
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Sees the machine's transitions. */
  readonly inspect?: (inspection: InspectionEvent) => void;
}

const PROBE_LIMIT_MS = 2_000;

/** Writes the blocks of one coin node into one database: carries out what the machine says. */
export class ChainLoop {
  readonly #options: ChainLoopOptions;
  readonly #effects: Effects;
  readonly #machine;
  #isReachable: boolean | null = null;

  constructor(options: ChainLoopOptions) {
    const { machine, work, retryDelayMs, log, inspect } = options;
    this.#options = options;
    this.#effects = new Effects({
      proofs: ['awaitNode', 'takeBlocks', 'load', 'watchTip'],
      toFault: (caught) => PlatformError.from(caught),
      onFault: (fault) => {
        log.warn({ code: fault.code, retryInMs: retryDelayMs, hint: fault.hint }, fault.message);
        work.distrust();
      },
      isRetried: ({ code, policy }, effect) =>
        policy === 'restart' && code !== 'INTERNAL' && code !== 'DATABASE_UNAVAILABLE' && effect !== 'close',
      pauseMs: (_, fault) => (fault ? retryDelayMs : 0)
    });
    this.#machine = createActor(machine.provide({ actors: this.#provide(work) }), {
      input: { maxRollbackDepth: work.undoDepth, reconnectDelayMs: retryDelayMs },
      ...(inspect ? { inspect } : {})
    });
  }

  /**
   * Works until the signal, and returns after the effect that is under way, its connections released.
   *
   * @throws {PlatformError} what waiting does not mend: DATABASE_REFUSED, NODE_MISMATCH, INTERNAL
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#machine.send({ type: 'stop.requested' });
    this.#machine.start();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      const ended = await waitFor(this.#machine, ({ status }) => status !== 'active');
      if (ended.matches('failed')) throw ended.context.fault;
    } finally {
      signal.removeEventListener('abort', stop);
      await this.#options.work.close();
    }
  }

  /** Checks whether the database answers, beside the loop's own work. */
  async probe(): Promise<void> {
    const { store } = this.#options.work;
    if (store) this.#isReachable = await store.database.probe(PROBE_LIMIT_MS);
    else if (this.#isReachable !== null) this.#isReachable = false;
  }

  get report(): ChainReport {
    return {
      state: stateText(this.#machine.getSnapshot().value),
      isDatabaseReachable: this.#isReachable,
      failures: Math.max(this.#effects.faultCount, this.#options.work.fetchFailures),
      rpcErrors: this.#options.counters.reduce((sum, { errorCount }) => sum + errorCount, 0),
      ...this.#options.work.facts
    };
  }

  #provide(work: AnyWork) {
    const effects = this.#effects;
    return {
      connect: effects.effect('connect', () => work.connect()),
      awaitNode: effects.effect('awaitNode', (signal) => work.awaitNode(signal)),
      takeBlocks: effects.effect('takeBlocks', (signal) => work.takeBlocks(signal)),
      load: effects.effect('load', () => work.load()),
      watchTip: effects.effect('watchTip', (signal) => work.watchTip(signal)),
      locateFork: effects.effect('locateFork', (signal) => work.locateFork(signal)),
      rollBack: effects.effect('rollBack', (signal) => work.rollBack(signal)),
      refuse: effects.effect('refuse', () => work.refuse()),
      close: effects.effect('close', () => work.close())
    };
  }
}
