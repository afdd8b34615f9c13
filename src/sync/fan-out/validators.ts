import { type ActorRefFrom, createActor } from 'xstate';
import { type Heartbeat, heartbeatMachine } from '../../../machines/sync/heartbeat.ts';
import { PlatformError } from '../../errors.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import { SharedList } from './shared-list.ts';

interface Entry {
  readonly life: ActorRefFrom<typeof heartbeatMachine>;
  isProven: boolean;
}

/** Sender of a heartbeat. */
export interface Sender {
  /** As its requests are counted. */
  readonly address?: string;
  /** Whether it has proven, by a signature, that it has the key that it is named by. */
  readonly isProven?: boolean;
}

/** Validators listed at once for one database, beside those of VALIDATOR_PUBKEYS; addresses share the places. */
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
  readonly #configured: ReadonlySet<string>;
  readonly #databases = new Map<string, SharedList<Entry>>();
  /** Open connections by which a validator proved its key, by database and name. */
  readonly #proofs = new Map<string, number>();

  /**
   * @param ttlMs how long an entry stays after its last heartbeat
   * @param configured VALIDATOR_PUBKEYS in lower-case hex, which always have room
   */
  constructor(ttlMs: number, maxEntries = MAX_ENTRIES, configured: readonly string[] = []) {
    this.#configured = new Set(configured);
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
  }

  /**
   * Keeps a heartbeat. One that anybody may send is left out while what the validator itself said is listed, and a connection is open
   * that proved its key.
   *
   * @throws {PlatformError} VALIDATORS_FULL for one that is not listed yet
   */
  beat(
    id: DatabaseId,
    validatorId: string,
    heartbeat: Omit<Heartbeat, 'at'>,
    { address = '', isProven = false }: Sender = {}
  ): void {
    const entries =
      this.#databases.get(databaseKey(id)) ?? new SharedList<Entry>(this.#maxEntries, ({ life }) => life.stop());
    this.#databases.set(databaseKey(id), entries);
    const entry = entries.get(validatorId) ?? this.#add(entries, validatorId, address);
    if (entry.isProven && !isProven && this.#proofs.has(proofOf(id, validatorId))) return;
    entry.isProven = isProven;
    entry.life.send({ type: 'heartbeat.received', ...heartbeat, at: Date.now() });
  }

  /** Notes a connection that proved the key of a validator. */
  proved(id: DatabaseId, validatorId: string): void {
    const proof = proofOf(id, validatorId);
    this.#proofs.set(proof, (this.#proofs.get(proof) ?? 0) + 1);
  }

  /** Notes that such a connection is closed: after the last one what anybody sends counts again. */
  left(id: DatabaseId, validatorId: string): void {
    const proof = proofOf(id, validatorId);
    const others = (this.#proofs.get(proof) ?? 1) - 1;
    if (others > 0) this.#proofs.set(proof, others);
    else this.#proofs.delete(proof);
  }

  /** Lists validators by their ids, in the order in which they were first seen. */
  list(id: DatabaseId): [validatorId: string, heartbeat: Heartbeat][] {
    return [...(this.#databases.get(databaseKey(id)) ?? [])].flatMap(([validatorId, { life }]) => {
      const { last } = life.getSnapshot().context;
      return last ? [[validatorId, last]] : [];
    });
  }

  /** Ends every lifetime. */
  close(): void {
    for (const entries of this.#databases.values()) for (const [, { life }] of entries) life.stop();
    this.#databases.clear();
  }

  #add(entries: SharedList<Entry>, validatorId: string, address: string): Entry {
    const life = createActor(heartbeatMachine, { input: { ttlMs: this.#ttlMs }, clock: CLOCK });
    const entry: Entry = { life, isProven: false };
    if (!entries.add(validatorId, entry, this.#configured.has(validatorId) ? undefined : address))
      throw new PlatformError('VALIDATORS_FULL', { reason: `${entries.size} validators are listed already` });
    life.subscribe({ complete: () => entries.get(validatorId) === entry && entries.delete(validatorId) });
    life.start();
    return entry;
  }
}

const proofOf = (id: DatabaseId, validatorId: string) => `${databaseKey(id)} ${validatorId}`;
