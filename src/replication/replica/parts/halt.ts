import { type ActorOptions, type ActorRefFrom, createActor, waitFor } from 'xstate';
import { haltMachine } from '../../../../machines/runtime/halt.ts';
import type { Connection } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { type HaltReason, haltOf, remedyOf } from '../../../wire/state/halts.ts';
import type { Halt } from '../../../wire/state/report.ts';
import { clearHalt, readHalt, writeHalt, writeReplicaState } from '../database/state.ts';
import { readHaltFile, removeHaltFile, writeHaltFile } from './halt-file.ts';

/** Reason of a halt whose operator, by clearing it, confirms the reorg: no undo reaches that far. */
const TOO_DEEP: HaltReason = 'max-rollback-depth-exceeded';
const RETRY_MS = 1_000;
const DEADLINE_MS = 30_000;

type HaltActor = ActorRefFrom<typeof haltMachine>;
export type HaltObserver = NonNullable<ActorOptions<typeof haltMachine>['inspect']>;

interface ReplicaHaltOptions {
  /** File for a halt that the database cannot record: it blocks the next start too. */
  readonly file: string;
  readonly log: Logger;
  /** Sees the machine's changes of state. */
  readonly inspect: HaltObserver;
  readonly writer: () => Connection;
  /** The followed source. */
  readonly source: () => string;
  /** Called first, to stop whatever brings blocks. */
  readonly onRaised: () => void;
  /** Called whenever something that is reported has changed. */
  readonly changed: () => void;
}

/** The halt of one replica: in force at once, durable when `raise` returns, cleared only by an operator. */
export class ReplicaHalt {
  readonly #options: ReplicaHaltOptions;
  #actor: HaltActor | undefined;

  constructor(options: ReplicaHaltOptions) {
    this.#options = options;
  }

  /** The halt in force; null when there is none. */
  get current(): Halt | null {
    return this.#actor?.getSnapshot().context.halt ?? null;
  }

  /** Finds the halt that stands, in the database or in the file. */
  async find(): Promise<void> {
    const found = (await readHalt(this.#options.writer())) ?? (await readHaltFile(this.#options.file));
    this.#actor ??= this.#start(found);
  }

  /**
   * Halts at once; the halt is durable when this returns.
   *
   * @param sources the sources concerned; default: the followed one
   */
  async raise(reason: HaltReason, height: number, mismatches: unknown, sources?: readonly string[]): Promise<void> {
    const { log, source, onRaised, changed } = this.#options;
    const halt = haltOf(reason, { block_index: height, mismatches, sources: sources ?? [source()] });
    onRaised();
    log.error({ halt, remedy: remedyOf(halt) }, `replication halted: ${halt.reason}`);
    this.#actor!.send({ type: 'halt.raised', halt });
    changed();
    await waitFor(this.#actor!, (snapshot) => snapshot.matches({ halted: 'recorded' }), { timeout: DEADLINE_MS });
  }

  /**
   * Clears the halt, by an operator's word. After a reorg that is deeper than any undo, the replica is bootstrapped
   * again.
   *
   * @returns the halt that was cleared; null when there was none
   * @throws {PlatformError} ACTOR_NOT_READY while it is not known whether there is one, or a halt is not recorded yet
   */
  async clear(connection: Connection): Promise<Halt | null> {
    const state = this.#actor?.getSnapshot();
    if (!state || (state.hasTag('refuse') && !state.matches({ halted: 'recorded' }))) {
      const reason = state ? 'the halt is still being recorded' : 'the replica was not looked at yet';
      throw new PlatformError('ACTOR_NOT_READY', { reason });
    }
    const was = this.current;
    if (was?.reason === TOO_DEEP) await writeReplicaState(connection, { complete: false, phase: 'bootstrapping' });
    await clearHalt(connection);
    await removeHaltFile(this.#options.file);
    this.#actor?.send({ type: 'halt.cleared' });
    this.#options.changed();
    return was;
  }

  #start(found: Halt | null): HaltActor {
    const { log, inspect } = this.#options;
    const record = ({ context }: { context: { readonly halt: Halt | null } }) => {
      void this.#record(context.halt!).then(
        () => actor.send({ type: 'halt.recorded' }),
        (caught: unknown) => {
          log.error({ err: caught }, 'recording the halt failed; retrying');
          actor.send({ type: 'record.failed' });
        }
      );
    };
    const machine = haltMachine.provide({ actions: { record } });
    const actor: HaltActor = createActor(machine, { input: { found, retryMs: RETRY_MS }, inspect });
    actor.start();
    return actor;
  }

  /** Writes the halt to the database, else to the file. */
  async #record(halt: Halt): Promise<void> {
    const { writer, log, file } = this.#options;
    try {
      await writeHalt(writer(), halt);
    } catch (caught) {
      log.error({ err: caught }, 'the halt could not be written to sync_halt: writing it to a file');
      await writeHaltFile(file, halt);
    }
  }
}
