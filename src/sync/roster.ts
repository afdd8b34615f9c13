import type { DiscoveredDatabase } from '../hub/client.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';

/** The difference between the known databases and the hub's present list. */
interface RosterChange {
  readonly appeared: readonly DiscoveredDatabase[];
  /** Known already, under other coordinates. */
  readonly moved: readonly DiscoveredDatabase[];
  readonly gone: readonly DatabaseId[];
}

/** The databases that this process serves or follows. */
export class Roster {
  readonly #databases = new Map<string, DiscoveredDatabase>();
  #discovered = false;

  /** False until the hub has answered once. */
  get discovered(): boolean {
    return this.#discovered;
  }

  ids(): DatabaseId[] {
    return [...this.#databases.values()].map(({ id }) => id);
  }

  find(id: DatabaseId): DiscoveredDatabase | undefined {
    return this.#databases.get(databaseKey(id));
  }

  /** Takes over the hub's present list of databases. */
  update(databases: readonly DiscoveredDatabase[]): RosterChange {
    const named = new Map(databases.map((database) => [databaseKey(database.id), database]));
    const gone = this.ids().filter((id) => !named.has(databaseKey(id)));
    const appeared = databases.filter(({ id }) => !this.find(id));
    const moved = databases.filter((database) => {
      const known = this.find(database.id);
      return known !== undefined && JSON.stringify(known.coordinates) !== JSON.stringify(database.coordinates);
    });
    this.#databases.clear();
    for (const [key, database] of named) this.#databases.set(key, database);
    this.#discovered = true;
    return { appeared, moved, gone };
  }
}
