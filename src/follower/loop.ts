import { createActor, type InspectionEvent } from 'xstate';
import { stateText } from '../../actors/runtime/observe.ts';
import { Effects } from '../../actors/runtime/thread/effects.ts';
import type { decoderMachine } from '../../machines/follower/chain-writer.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type Alarm, alarmOf } from '../wire/state/alarm.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { FaultAlarm } from './faults.ts';
import type { ChainReport } from './report.ts';
import { runFollower } from './run.ts';
import type { BlockStore, ChainWork } from './work.ts';

/** The work of a loop, for any kind of block. */
type AnyWork = Omit<ChainWork<never, never>, 'store'> & {
  readonly store: Pick<BlockStore<never>, 'database'> | undefined;
};

export interface ChainLoopOptions {
  readonly machine: typeof decoderMachine;
  readonly work: AnyWork;
  /** Counters of failed attempts at the node. */
  readonly counters: readonly { readonly errorCount: number }[];
  /** Returns the milliseconds for which the node has answered nothing though it was asked; default: never. */
  readonly silentMs?: () => number;
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Sees the machine's transitions. */
  readonly inspect?: (inspection: InspectionEvent) => void;
}

/** Faults after which the machine goes elsewhere. */
const LEAVES_STATE = new Set<ErrorCode>(['INTERNAL', 'DATABASE_UNAVAILABLE', 'ROWS_REFUSED', 'STATEMENT_TOO_SLOW']);
const PROBE_LIMIT_MS = 2_000;
/** Pause until a database that answered is asked again. One that did not is asked at each look. */
const PROBE_PAUSE_MS = 1_000;
/** Silence of a node that is told. */
const SILENCE_MS = 5_000;
/** Time without a block that is told, while the node has more. */
const DELAY_MS = 8_000;

/** Writes the blocks of one coin node into one database: carries out what the machine says. */
export class ChainLoop {
  readonly #options: ChainLoopOptions;
  readonly #effects: Effects;
  readonly #machine;
  #isReachable: boolean | null = null;
  readonly #fault = new FaultAlarm();
  #probedAt = Number.NEGATIVE_INFINITY;
  #passing: Alarm | null = null;

  constructor(options: ChainLoopOptions) {
    const { machine, work, retryDelayMs, log, inspect } = options;
    this.#options = options;
    this.#effects = new Effects({
      proofs: ['awaitNode', 'takeBlocks', 'load', 'watchTip', 'awaitBlocks'],
      toFault: (caught) => PlatformError.from(caught),
      onFault: (fault, effect) => {
        this.#fault.note(fault, effect);
        log.warn({ code: fault.code, retryInMs: retryDelayMs, hint: fault.hint }, fault.message);
        work.distrust();
      },
      onSuccess: (effect) => this.#fault.end(effect, this.#effects.lastFault === null),
      isRetried: ({ code, policy }, effect) => policy === 'restart' && !LEAVES_STATE.has(code) && effect !== 'close',
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
    try {
      await runFollower(this.#machine, signal);
    } finally {
      await this.#options.work.close();
    }
  }

  /** Checks whether the database answers, beside the loop's own work. Call it several times a second. */
  async probe(): Promise<void> {
    const { store } = this.#options.work;
    if (!store) {
      if (this.#isReachable !== null) this.#isReachable = false;
    } else if (this.#isReachable !== true || monotonicMs() - this.#probedAt >= PROBE_PAUSE_MS) {
      this.#isReachable = await store.database.probe(PROBE_LIMIT_MS);
      this.#probedAt = monotonicMs();
    }
  }

  /** Tells those who read the database whether this loop goes on. What fails of it fails the next statement, too. */
  async tellReaders({ alarm, haltReason }: Pick<ChainReport, 'alarm' | 'haltReason'>): Promise<void> {
    const isWaiting = (alarm ?? haltReason) !== null;
    await this.#options.work.store?.database.tellWaiting(isWaiting).catch(() => undefined);
  }

  get report(): ChainReport {
    return {
      state: stateText(this.#machine.getSnapshot().value),
      alarm: this.#alarm,
      isDatabaseReachable: this.#isReachable,
      failures: Math.max(this.#effects.faultCount, this.#options.work.fetchFailures),
      rpcErrors: this.#options.counters.reduce((sum, { errorCount }) => sum + errorCount, 0),
      ...this.#options.work.facts
    };
  }

  /** Reason why it does not go on, the nearest cause first. */
  get #alarm(): Alarm | null {
    const { work } = this.#options;
    if (work.facts.haltReason !== null) return null;
    const error = this.#passingError();
    this.#passing = error && alarmOf(error, this.#passing, monotonicMs());
    return this.#fault.current ?? work.alarm ?? this.#passing;
  }

  #passingError(): PlatformError | null {
    const { work, silentMs } = this.#options;
    if (this.#isReachable === false)
      return new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database does not answer' });
    if ((silentMs?.() ?? 0) > SILENCE_MS)
      return new PlatformError('NODE_UNREACHABLE', { reason: 'the coin node does not answer' });
    const { lastProcessedBlock, nodeHeight, progressAt } = work.facts;
    const isCatchingUp = this.#machine.getSnapshot().matches({ parsing: 'catchingUp' });
    if (!isCatchingUp || nodeHeight === null || nodeHeight <= (lastProcessedBlock ?? -1)) return null;
    if (monotonicMs() - progressAt < DELAY_MS) return null;
    const reason = `block ${(lastProcessedBlock ?? -1) + 1} is late: the node is at ${nodeHeight}, and ${work.fetchFailures} attempts failed`;
    return new PlatformError('BLOCKS_DELAYED', { reason });
  }

  #provide(work: AnyWork) {
    const effects = this.#effects;
    return {
      connect: effects.effect('connect', () => work.connect()),
      awaitNode: effects.effect('awaitNode', (signal) => work.awaitNode(signal)),
      takeBlocks: effects.effect('takeBlocks', (signal) => work.takeBlocks(signal)),
      load: effects.effect('load', () => work.load()),
      watchTip: effects.effect('watchTip', (signal) => work.watchTip(signal)),
      awaitBlocks: effects.effect('awaitBlocks', (signal) => work.awaitBlocks(signal)),
      locateFork: effects.effect('locateFork', (signal) => work.locateFork(signal)),
      rollBack: effects.effect('rollBack', (signal) => work.rollBack(signal)),
      refuse: effects.effect('refuse', () => work.refuse()),
      watchHalt: effects.effect('watchHalt', (signal) => work.watchHalt(signal)),
      close: effects.effect('close', () => work.close())
    };
  }
}
