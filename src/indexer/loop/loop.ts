import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent } from 'xstate';
import { stateText } from '../../../actors/runtime/observe.ts';
import type { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import { Effects } from '../../../actors/runtime/thread/effects.ts';
import { type Found, indexerMachine, type Refusal } from '../../../machines/indexer/indexer.ts';
import { watchdogMachine } from '../../../machines/indexer/watchdog.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { FaultAlarm } from '../../follower/faults.ts';
import { runFollower } from '../../follower/run.ts';
import type { Logger } from '../../log.ts';
import { type Alarm, alarmOf } from '../../wire/state/alarm.ts';
import { monotonicMs } from '../../wire/state/monotonic.ts';
import { type Progress, placeText } from '../block/progress.ts';
import type { TimedOut } from '../store/timeouts.ts';
import type { IndexerReport } from './report.ts';
import type { IndexerWork } from './work.ts';

type Database = 'decoder' | 'indexer';

/** Faults that are not those of a database that fails. */
const ANSWERED = ['LEDGER_INSANE', 'ROWS_REFUSED', 'STATEMENT_TOO_SLOW', 'PRICES_REPLACED'] as const;
/** Time without progress in a block before it is reported, in milliseconds. */
const DELAY_MS = 8_000;
/** Duration of a look at a database before it is reported: while there is no block, no other statement waits. */
const SILENCE_MS = 3_000;
/** Longest time that a timer takes. */
const LONGEST_LIMIT_MS = 2 ** 31 - 1;
/** Longest time to note that an attempt was too slow: the database itself may hang. */
const RECORD_LIMIT_MS = 5_000;

/** Dependencies and limits of an indexer's loop. */
interface IndexerLoopOptions {
  readonly work: IndexerWork;
  readonly circuits: Readonly<Record<Database, CircuitBreaker>>;
  readonly maxRollbackDepth: number;
  /** Time for a block, retries included. It is doubled for each attempt at that block alone that was too slow. */
  readonly blockLimitMs: number;
  /** Progress of the work on blocks. Its listener must call `blockDone`. */
  readonly progress: Progress;
  /** Notes an attempt that was too slow, so that the next attempt differs. */
  readonly recordTimeout: (attempt: TimedOut) => Promise<void>;
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Observes the machines' transitions. */
  readonly inspect: (machine: 'indexer' | 'watchdog') => (inspection: InspectionEvent) => void;
}

/** Follows one decoder database with the effects of its machine. */
export class IndexerLoop {
  readonly #options: IndexerLoopOptions;
  readonly #effects: Effects;
  readonly #machine;
  readonly #watchdog;
  readonly #fault = new FaultAlarm(['write', 'rollBack']);
  #late: Alarm | null = null;
  /** Look at a database that is under way. */
  #look: { readonly database: Database; readonly began: number } | null = null;
  /** Highest block that was executed, and time of the last progress by monotonicMs(). */
  #furthest = -1;
  #movedAt = monotonicMs();

  constructor(options: IndexerLoopOptions) {
    const { inspect, maxRollbackDepth, blockLimitMs, retryDelayMs, log } = options;
    this.#options = options;
    this.#effects = new Effects({
      proofs: ['inspect', 'write', 'rollBack', 'watchTip', 'awaitBlocks'],
      toFault: (caught) => PlatformError.from(caught),
      onFault: (fault, effect) => {
        const { code, policy, hint, message } = fault;
        this.#fault.note(fault, effect);
        if (policy === 'restart' && code !== 'INTERNAL') log.warn({ code, retryInMs: retryDelayMs, hint }, message);
      },
      onSuccess: (effect) => {
        this.#movedAt = monotonicMs();
        this.#fault.end(effect, this.#effects.lastFault === null);
      }
    });
    this.#machine = createActor(indexerMachine.provide({ actors: this.#provide(options.work) }), {
      input: { maxRollbackDepth, reconnectDelayMs: retryDelayMs },
      inspect: inspect('indexer')
    });
    this.#watchdog = createActor(watchdogMachine, {
      input: { limitMs: blockLimitMs },
      inspect: inspect('watchdog')
    });
  }

  /**
   * Works until the signal, and returns after the effect under way.
   *
   * @throws {PlatformError} faults that waiting does not mend: DATABASE_REFUSED, DATABASE_UNUSABLE, WATCHDOG_TIMEOUT,
   *   INTERNAL
   */
  async run(signal: AbortSignal): Promise<void> {
    const expired = this.#watchExpiry();
    try {
      await Promise.race([runFollower(this.#machine, signal), expired]);
    } finally {
      this.#machine.stop();
      this.#watchdog.stop();
      this.#options.work.close();
    }
  }

  get report(): IndexerReport {
    const { work, circuits } = this.#options;
    return {
      state: stateText(this.#machine.getSnapshot().value),
      failures: this.#effects.faultCount,
      alarm: this.#alarm,
      inFlight: this.#options.progress.place,
      decoderDbCircuit: circuits.decoder.state,
      indexerDbCircuit: circuits.indexer.state,
      ...work.facts
    };
  }

  /** Tells readers of the database whether this loop goes on. */
  async tellReaders({ alarm, haltReason, waitReason }: IndexerReport): Promise<void> {
    await this.#options.work.tellReaders((alarm ?? haltReason ?? waitReason) !== null);
  }

  /** Notes that a block is executed. */
  blockDone(height: number): void {
    this.#movedAt = monotonicMs();
    if (height <= this.#furthest) return;
    this.#furthest = height;
    this.#watchdog.send({ type: 'block.done' });
  }

  /** Notes that a part of what has to be in memory before the first block was read. */
  pageRead(): void {
    this.#movedAt = monotonicMs();
    this.#watchdog.send({ type: 'page.read' });
  }

  /** Reason for which the loop does not go on; null while it does. */
  get #alarm(): Alarm | null {
    const { work } = this.#options;
    const { facts } = work;
    if (facts.haltReason !== null) return null;
    const isLate = facts.inFlightBlock !== null && monotonicMs() - this.#movedAt > DELAY_MS;
    const reason = `block ${facts.inFlightBlock} is late: ${this.#doing}`;
    this.#late = isLate ? { ...alarmOf(new PlatformError('BLOCK_LATE', { reason }), this.#late, this.#movedAt) } : null;
    return this.#fault.current ?? this.#late ?? this.#silence ?? work.upstreamAlarm;
  }

  get #silence(): Alarm | null {
    const { database, began } = this.#look ?? {};
    if (began === undefined || monotonicMs() - began <= SILENCE_MS) return null;
    const reason = `the ${database} database does not answer`;
    return alarmOf(new PlatformError('DATABASE_UNAVAILABLE', { reason }), null, began);
  }

  /** Present place of the loop, and the unit that took longest since the blocks were begun. */
  get #doing(): string {
    const { place, slowest } = this.#options.progress;
    const now = place === null ? 'its rows are read or written' : placeText(place);
    return slowest === null ? now : `${now}; ${placeText(slowest.place)} took ${Math.round(slowest.ms)} ms`;
  }

  get #limitMs(): number {
    const { blockLimitMs, work } = this.#options;
    return Math.min(blockLimitMs * 2 ** work.doublings, LONGEST_LIMIT_MS);
  }

  /** Rejects when blocks are not written in time: a statement that hangs cannot be waited for. */
  #watchExpiry(): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // after a stop nobody awaits it
    this.#watchdog.subscribe(({ value }) => {
      if (value === 'expired') void this.#giveUp().then(reject);
    });
    this.#watchdog.start();
    return promise;
  }

  /** Notes that the attempt was too slow. @returns the error that ends the loop */
  async #giveUp(): Promise<PlatformError> {
    const { work, log, recordTimeout } = this.#options;
    const [limitMs, at] = [this.#limitMs, this.#doing];
    const { inFlightBlock: block, inFlightBlocks: blocks, lastIndexedBlock } = work.facts;
    const attempt = { block: block ?? (lastIndexedBlock ?? -1) + 1, blocks: Math.max(blocks, 1), limitMs, at };
    const next = attempt.blocks > 1 ? 'the next attempt is this block alone' : `the next attempt has ${2 * limitMs} ms`;
    const late = sleep(RECORD_LIMIT_MS, undefined, { ref: false }).then(() => {
      throw new Error('no answer');
    });
    const isNoted = await Promise.race([recordTimeout(attempt), late]).then(
      () => true,
      (caught: unknown) => {
        log.error(
          { reason: String(caught) },
          'the timeout could not be noted: the next attempt has the same blocks and limit'
        );
        return false;
      }
    );
    const behind = attempt.blocks > 1 ? ` and the ${attempt.blocks - 1} after it` : '';
    const reason = `WATCHDOG TIMEOUT: block ${attempt.block}${behind} took more than ${limitMs} ms; ${at}${isNoted ? `; ${next}` : ''}`;
    return new PlatformError('WATCHDOG_TIMEOUT', { reason });
  }

  #provide(work: IndexerWork) {
    const effects = this.#effects;
    /** Ends the watch: the blocks are written, or are not to be written any more. */
    const blocksFinished = () => this.#watchdog.send({ type: 'blocks.finished' });
    return {
      connect: effects.effect('connect', async (signal) => {
        await this.#ask('indexer', () => work.openStore(), signal);
        await this.#ask('decoder', () => work.openSource(), signal);
        return await this.#ask('indexer', () => work.readHalt(), signal);
      }),
      inspect: effects.effect('inspect', (signal) => this.#ask('decoder', () => work.inspect(), signal)),
      read: effects.effect('read', async (signal) => {
        this.#options.progress.restart();
        this.#watchdog.send({ type: 'blocks.begun', limitMs: this.#limitMs });
        const read = await this.#ask('decoder', () => work.read(), signal);
        if (read !== 'blocks') blocksFinished();
        return read;
      }),
      write: effects.effect('write', async (signal) => {
        await this.#ask('indexer', () => work.write(), signal);
        blocksFinished();
      }),
      rollBack: effects.effect('rollBack', (signal, height: number) => {
        blocksFinished();
        this.#furthest = height - 1;
        return this.#ask('indexer', () => work.rollBack(height), signal);
      }),
      watchTip: effects.effect<Found>('watchTip', async (signal) => {
        blocksFinished();
        await work.wait(signal);
        await this.#ask('indexer', () => this.#timed('indexer', () => work.keepAlive()), signal);
        const found = await this.#ask('decoder', () => this.#timed('decoder', () => work.inspect()), signal);
        return found === 'tip' ? null : found;
      }),
      awaitBlocks: effects.effect<Found>('awaitBlocks', async (signal) => {
        blocksFinished();
        await work.wait(signal);
        await this.#ask('indexer', () => this.#timed('indexer', () => work.keepAlive()), signal);
        const found = await this.#ask('decoder', () => this.#timed('decoder', () => work.inspect()), signal);
        return found === 'behind' ? null : found;
      }),
      awaitPrices: effects.effect<void>('awaitPrices', async (signal) => {
        await work.wait(signal);
        await this.#ask('indexer', () => this.#timed('indexer', () => work.keepAlive()), signal);
      }),
      refuse: effects.effect('refuse', (signal, refusal: Refusal) => {
        blocksFinished();
        return this.#ask('indexer', () => work.refuse(refusal), signal);
      }),
      close: effects.effect('close', () => Promise.resolve(work.close()))
    };
  }

  /** Times a look at a database while there is no block. */
  async #timed<T>(database: Database, look: () => Promise<T>): Promise<T> {
    this.#look = { database, began: monotonicMs() };
    try {
      return await look();
    } finally {
      this.#look = null;
    }
  }

  /** Runs one effect on a database, behind its breaker. */
  async #ask<T>(database: Database, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const circuit = this.#options.circuits[database];
    await circuit.admission(signal);
    circuit.tell('call.started');
    try {
      const result = await call();
      circuit.tell('call.succeeded');
      return result;
    } catch (caught) {
      // With these faults the database has answered.
      const hasAnswered = ANSWERED.some((code) => hasCode(caught, code));
      circuit.tell(hasAnswered ? 'call.succeeded' : 'call.failed');
      this.#options.work.drop(database);
      throw caught;
    }
  }
}
