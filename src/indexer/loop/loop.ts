import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent } from 'xstate';
import { type IndexerEvent, indexerMachine } from '../../../machines/indexer/indexer.ts';
import { watchdogMachine } from '../../../machines/indexer/watchdog.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { IndexerFacts, IndexerWork } from './work.ts';

/** The circuit breaker in front of one database. */
export interface Circuit {
  readonly state: 'closed' | 'open' | 'half-open';
  /** Fulfilled when a call may be made. */
  admission(signal: AbortSignal): Promise<void>;
  tell(type: 'call.started' | 'call.succeeded' | 'call.failed'): void;
}

export interface IndexerLoopOptions {
  readonly work: IndexerWork;
  readonly circuits: { readonly decoder: Circuit; readonly indexer: Circuit };
  readonly maxRollbackDepth: number;
  /** How long one group of blocks may take, its retries included. */
  readonly blockLimitMs: number;
  /** Pause after an effect that failed. */
  readonly retryDelayMs: number;
  readonly log: Logger;
  /** Sees the machines' transitions. */
  readonly inspect?: (machine: 'indexer' | 'watchdog') => (inspection: InspectionEvent) => void;
}

/** What the loop last said of itself. */
export interface IndexerReport extends IndexerFacts {
  readonly state: string;
  readonly failures: number;
  readonly decoderDbCircuit: Circuit['state'];
  readonly indexerDbCircuit: Circuit['state'];
}

type Database = 'decoder' | 'indexer';

/** Follows one decoder database: does what the machine says, and tells it what came of it. */
export class IndexerLoop {
  readonly #options: IndexerLoopOptions;
  readonly #machine;
  readonly #watchdog;

  constructor(options: IndexerLoopOptions) {
    this.#options = options;
    const { inspect, maxRollbackDepth, blockLimitMs } = options;
    this.#machine = createActor(indexerMachine, {
      input: { maxRollbackDepth },
      ...(inspect ? { inspect: inspect('indexer') } : {})
    });
    this.#watchdog = createActor(watchdogMachine, {
      input: { limitMs: blockLimitMs },
      ...(inspect ? { inspect: inspect('watchdog') } : {})
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
      while (this.#machine.getSnapshot().status === 'active') {
        const event = await Promise.race([this.#iterate(signal), expired]);
        if (event.type === 'blocks.written' || event.type === 'fork.detected')
          this.#watchdog.send({ type: 'blocks.finished' });
        this.#machine.send(event);
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#watchdog.stop();
      this.#options.work.close();
    }
  }

  get report(): IndexerReport {
    const { value, context } = this.#machine.getSnapshot();
    const { work, circuits } = this.#options;
    return {
      state: typeof value === 'string' ? value : `indexing.${value.indexing}`,
      failures: context.failures,
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

  async #iterate(signal: AbortSignal): Promise<IndexerEvent> {
    const { log, retryDelayMs } = this.#options;
    try {
      return await this.#effect(signal);
    } catch (caught) {
      if (signal.aborted) return { type: 'stop.requested' };
      const error = PlatformError.from(caught);
      if (error.policy !== 'restart' || error.code === 'INTERNAL') throw error;
      log.warn({ code: error.code, retryInMs: retryDelayMs, hint: error.hint }, error.message);
      await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined); // aborted: it stops
      return { type: 'database.lost' };
    }
  }

  /** The effect of the machine's state. */
  async #effect(signal: AbortSignal): Promise<IndexerEvent> {
    const { work } = this.#options;
    const { value, context } = this.#machine.getSnapshot();
    const ask = <T>(database: Database, call: () => Promise<T>) => this.#ask(database, call, signal);
    switch (value) {
      case 'connecting':
        await ask('indexer', () => work.openStore());
        await ask('decoder', () => work.openSource());
        return await ask('indexer', () => work.readHalt());
      case 'inspecting':
        return await ask('decoder', () => work.inspect());
      case 'rollingBack':
        return await ask('indexer', () => work.rollBack(context.forkHeight!));
      case 'caughtUp':
        return await work.wait(signal);
      case 'refusing':
        return await ask('indexer', () => work.refuse(context.refusal!));
      case 'halted':
        return await untilAborted(signal);
      case 'stopping':
      case 'stopped':
        return work.close();
      default:
        this.#watchdog.send({ type: 'blocks.begun' });
        return value.indexing === 'reading'
          ? await ask('decoder', () => work.read())
          : await ask('indexer', () => work.write());
    }
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
      circuit.tell('call.failed');
      this.#options.work.drop(database);
      throw caught;
    }
  }
}

/** A halted indexer has nothing to do but to be stopped. */
async function untilAborted(signal: AbortSignal): Promise<IndexerEvent> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return { type: 'stop.requested' };
}
