import { createActor, type InspectionEvent, waitFor } from 'xstate';
import { type Found, indexerMachine, type Refusal } from '../../machines/indexer/indexer.ts';
import { watchdogMachine } from '../../machines/indexer/watchdog.ts';
import { hasCode, PlatformError } from '../../src/errors.ts';
import type { IndexerReport } from '../../src/indexer/loop/report.ts';
import type { IndexerWork } from '../../src/indexer/loop/work.ts';
import type { Logger } from '../../src/log.ts';
import { stateText } from '../runtime/observe.ts';
import type { CircuitBreaker } from '../runtime/thread/circuit.ts';
import { Effects } from '../runtime/thread/effects.ts';

type Database = 'decoder' | 'indexer';

export interface IndexerLoopOptions {
  readonly work: IndexerWork;
  readonly circuits: Readonly<Record<Database, CircuitBreaker>>;
  readonly maxRollbackDepth: number;
  /** How long one group of blocks may take, its retries included. */
  readonly blockLimitMs: number;
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Sees the machines' transitions. */
  readonly inspect: (machine: 'indexer' | 'watchdog') => (inspection: InspectionEvent) => void;
}

/** Follows one decoder database: carries out what the machine says. */
export class IndexerLoop {
  readonly #options: IndexerLoopOptions;
  readonly #effects: Effects;
  readonly #machine;
  readonly #watchdog;

  constructor(options: IndexerLoopOptions) {
    const { inspect, maxRollbackDepth, blockLimitMs, retryDelayMs, log } = options;
    this.#options = options;
    this.#effects = new Effects({
      proofs: ['inspect', 'write', 'rollBack', 'watchTip', 'awaitBlocks'],
      toFault: (caught) => PlatformError.from(caught),
      onFault: ({ code, policy, hint, message }) => {
        if (policy === 'restart' && code !== 'INTERNAL') log.warn({ code, retryInMs: retryDelayMs, hint }, message);
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
   * @throws {PlatformError} what waiting does not mend: DATABASE_REFUSED, DATABASE_UNUSABLE, WATCHDOG_TIMEOUT, INTERNAL
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#machine.send({ type: 'stop.requested' });
    const expired = this.#watchExpiry();
    this.#machine.start();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      const ended = waitFor(this.#machine, ({ status }) => status !== 'active');
      const { value, context } = await Promise.race([ended, expired]);
      if (value === 'failed') throw context.fault;
    } finally {
      signal.removeEventListener('abort', stop);
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
      decoderDbCircuit: circuits.decoder.state,
      indexerDbCircuit: circuits.indexer.state,
      ...work.facts
    };
  }

  /** Rejected when blocks are not written in time: a statement that hangs cannot be waited for. */
  #watchExpiry(): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // nobody waits for it after a stop
    this.#watchdog.subscribe(({ value }) => {
      if (value !== 'expired') return;
      const { blockLimitMs, work } = this.#options;
      const reason = `WATCHDOG TIMEOUT: block ${work.facts.inFlightBlock ?? 'next'} took more than ${blockLimitMs} ms`;
      reject(new PlatformError('WATCHDOG_TIMEOUT', { reason }));
    });
    this.#watchdog.start();
    return promise;
  }

  #provide(work: IndexerWork) {
    const effects = this.#effects;
    /** They are written, or not to be written any more. */
    const blocksFinished = () => this.#watchdog.send({ type: 'blocks.finished' });
    return {
      connect: effects.effect('connect', async (signal) => {
        await this.#ask('indexer', () => work.openStore(), signal);
        await this.#ask('decoder', () => work.openSource(), signal);
        return await this.#ask('indexer', () => work.readHalt(), signal);
      }),
      inspect: effects.effect('inspect', (signal) => this.#ask('decoder', () => work.inspect(), signal)),
      read: effects.effect('read', async (signal) => {
        this.#watchdog.send({ type: 'blocks.begun' });
        const read = await this.#ask('decoder', () => work.read(), signal);
        if (read === 'fork') blocksFinished();
        return read;
      }),
      write: effects.effect('write', async (signal) => {
        await this.#ask('indexer', () => work.write(), signal);
        blocksFinished();
      }),
      rollBack: effects.effect('rollBack', (signal, height: number) => {
        blocksFinished();
        return this.#ask('indexer', () => work.rollBack(height), signal);
      }),
      watchTip: effects.effect<Found>('watchTip', async (signal) => {
        blocksFinished();
        await work.wait(signal);
        const found = await this.#ask('decoder', () => work.inspect(), signal);
        return found === 'tip' ? null : found;
      }),
      awaitBlocks: effects.effect<Found>('awaitBlocks', async (signal) => {
        blocksFinished();
        await work.wait(signal);
        const found = await this.#ask('decoder', () => work.inspect(), signal);
        return found === 'behind' ? null : found;
      }),
      refuse: effects.effect('refuse', (signal, refusal: Refusal) => {
        blocksFinished();
        return this.#ask('indexer', () => work.refuse(refusal), signal);
      }),
      close: effects.effect('close', () => Promise.resolve(work.close()))
    };
  }

  /** One effect on a database, behind its breaker. */
  async #ask<T>(database: Database, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const circuit = this.#options.circuits[database];
    await circuit.admission(signal);
    circuit.tell('call.started');
    try {
      const result = await call();
      circuit.tell('call.succeeded');
      return result;
    } catch (caught) {
      // The database that refused a ledger has answered.
      circuit.tell(hasCode(caught, 'LEDGER_INSANE') ? 'call.succeeded' : 'call.failed');
      this.#options.work.drop(database);
      throw caught;
    }
  }
}
