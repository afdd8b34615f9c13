import { type ActorRefFrom, createActor } from 'xstate';
import { type Heartbeat, heartbeatMachine } from '../../../machines/sync/heartbeat.ts';
import { PlatformError } from '../../errors.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';

type Entry = ActorRefFrom<typeof heartbeatMachine>;

/** Validators listed at once for one database. */
const MAX_ENTRIES = 10_000;

/** Lifetimes end by themselves and keep no process alive. */
const CLOCK = {
  setTimeout: (act: () => void, ms: number) => setTimeout(act, ms).unref(),
  clearTimeout: (timer: NodeJS.Timeout) => clearTimeout(timer)
};

/** The replicas of this server and their heights: one heartbeat chart per validator, removed when its lifetime is over. */
export class ValidatorBook {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #databases = new Map<string, Map<string, Entry>>();

  /** @param ttlMs how long an entry stays after its last heartbeat */
  constructor(ttlMs: number, maxEntries = MAX_ENTRIES) {
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
  }

  /** @throws {PlatformError} VALIDATORS_FULL for one that is not listed yet */
  beat(id: DatabaseId, validatorId: string, heartbeat: Omit<Heartbeat, 'at'>): void {
    const entries = this.#databases.get(databaseKey(id)) ?? new Map<string, Entry>();
    this.#databases.set(databaseKey(id), entries);
    const entry = entries.get(validatorId) ?? this.#add(entries, validatorId);
    entry.send({ type: 'heartbeat.received', ...heartbeat, at: Date.now() });
  }

  /** By validator id, in the order in which they were first seen. */
  list(id: DatabaseId): [validatorId: string, heartbeat: Heartbeat][] {
    return [...(this.#databases.get(databaseKey(id)) ?? [])].flatMap(([validatorId, entry]) => {
      const { last } = entry.getSnapshot().context;
      return last ? [[validatorId, last]] : [];
    });
  }

  /** Ends every lifetime. */
  close(): void {
    for (const entries of this.#databases.values()) for (const entry of entries.values()) entry.stop();
    this.#databases.clear();
  }

  #add(entries: Map<string, Entry>, validatorId: string): Entry {
    if (entries.size >= this.#maxEntries)
      throw new PlatformError('VALIDATORS_FULL', { reason: `${entries.size} validators are listed already` });
    const entry = createActor(heartbeatMachine, { input: { ttlMs: this.#ttlMs }, clock: CLOCK });
    entry.subscribe({ complete: () => entries.delete(validatorId) });
    entries.set(validatorId, entry);
    return entry.start();
  }
}
