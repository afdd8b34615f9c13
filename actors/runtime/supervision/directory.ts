import { PlatformError } from '../../../src/errors.ts';
import { type DatabaseId, databaseKey } from '../../../src/wire/data/database.ts';
import type { ActorState } from '../../../src/wire/state/actor-view.ts';
import type { Protocol } from '../channel.ts';
import type { ActorHandle } from './actor-handle.ts';

/** The part of the supervisor that the directory leans on. */
interface KnownActors<ToActor extends Protocol> {
  handle(id: DatabaseId): Pick<ActorHandle<ToActor>, 'ask'>;
  state(id: DatabaseId): ActorState;
  ids(): DatabaseId[];
}

/** One known database: how its actor stands, and what it last reported. */
interface DirectoryEntry<Report> {
  readonly id: DatabaseId;
  readonly state: ActorState;
  readonly report: Report | undefined;
}

/** The one thing routes know about actors: how to find one, and what it last reported. */
export class ActorDirectory<ToActor extends Protocol, Report> {
  readonly #actors: KnownActors<ToActor>;
  readonly #reports = new Map<string, Report>();

  constructor(actors: KnownActors<ToActor>) {
    this.#actors = actors;
  }

  /** Keeps what an actor reports; it outlives the actor. */
  keepReport(id: DatabaseId, report: Report): void {
    this.#reports.set(databaseKey(id), report);
  }

  /** @throws {PlatformError} DATABASE_UNKNOWN, ACTOR_NOT_READY */
  lookup(id: DatabaseId): Pick<ActorHandle<ToActor>, 'ask'> {
    return this.#actors.handle(id);
  }

  /** @throws {PlatformError} DATABASE_UNKNOWN, ACTOR_NOT_READY when it has not reported yet */
  lastReport(id: DatabaseId): Report {
    const state = this.#actors.state(id);
    const report = this.#reports.get(databaseKey(id));
    if (report !== undefined) return report;
    throw new PlatformError('ACTOR_NOT_READY', { reason: 'no report yet', actor: databaseKey(id), state });
  }

  /** Returns every known database, in the order in which the actors were started first. */
  list(): DirectoryEntry<Report>[] {
    return this.#actors.ids().map((id) => ({
      id,
      state: this.#actors.state(id),
      report: this.#reports.get(databaseKey(id))
    }));
  }
}
