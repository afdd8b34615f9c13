import { createActor, fromPromise, type InspectionEvent } from 'xstate';
import { mempoolMachine } from '../../machines/follower/mempool.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Effects of one look at the mempool, a batch at a time. */
export interface MempoolSteps {
  /** Lists the mempool. @returns the number of new transactions to read */
  list(signal: AbortSignal): Promise<number>;
  /** Reads the next batch. */
  fetch(signal: AbortSignal): Promise<void>;
  /** Stores the batch. @returns the number of transactions that are left */
  save(): Promise<number>;
  /** Whether the last result no longer counts, so that the next look is due at once; default: never. */
  readonly isDue?: boolean;
}

/** Effects and observers of a loop over a mempool. */
interface MempoolLoopOptions {
  readonly pass: MempoolSteps;
  /** Pause between two passes; default 60 s. */
  readonly restMs?: number;
  readonly log: Logger;
  /** Observes the machine's transitions. */
  readonly inspect?: (inspection: InspectionEvent) => void;
}

const REST_MS = 60_000;

/** Reads the mempool periodically while its service is synced. */
export class MempoolLoop {
  readonly #machine;
  readonly #pass: MempoolSteps;

  constructor({ pass, log, inspect, restMs = REST_MS }: MempoolLoopOptions) {
    this.#pass = pass;
    const machine = mempoolMachine.provide({
      actors: {
        list: fromPromise(({ signal }) => pass.list(signal)),
        fetch: fromPromise(({ signal }) => pass.fetch(signal)),
        save: fromPromise(() => pass.save())
      },
      actions: {
        tellFault: (_, { error }) => {
          const { code, hint, message } = PlatformError.from(error);
          log.warn({ code, hint }, `mempool: ${message}`);
        }
      }
    });
    this.#machine = createActor(machine, { input: { restMs }, ...(inspect ? { inspect } : {}) }).start();
  }

  get state(): string {
    return this.#machine.getSnapshot().value;
  }

  /** Starts looks at the mempool near the tip. Otherwise it cancels a pass that is under way. */
  setSynced(isSynced: boolean): void {
    if (isSynced === (this.state === 'paused')) this.#machine.send({ type: 'lag.changed', isSynced });
    if (this.#pass.isDue && this.state === 'resting') this.#machine.send({ type: 'look.due' });
  }

  stop(): void {
    this.#machine.send({ type: 'stop.requested' });
  }
}
