import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import type { IndexMapDigest } from '../../wire/data/index-map.ts';
import type { ActorDirectory } from './deps.ts';

const REFRESH_MS = 10_000;
/** The first reading goes through the whole index. */
const READ_DEADLINE_MS = 10 * 60_000;

interface Kept {
  map: IndexMapDigest | null;
  readAt: number;
}

/** The index maps of a server's databases: read behind the answers that carry them, never waited for. */
export class IndexMaps {
  readonly #directory: ActorDirectory;
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Set<string>();

  constructor(directory: ActorDirectory) {
    this.#directory = directory;
  }

  /** Returns the last digest that was read; null before the first. */
  of(id: DatabaseId): IndexMapDigest | null {
    const key = databaseKey(id);
    const kept = this.#kept.get(key);
    if (!this.#reading.has(key) && performance.now() - (kept?.readAt ?? Number.NEGATIVE_INFINITY) > REFRESH_MS) {
      this.#reading.add(key);
      void this.#read(id).then((map) => {
        this.#kept.set(key, { map, readAt: performance.now() });
        this.#reading.delete(key);
      });
    }
    return kept?.map ?? null;
  }

  /** Reads the index map from the actor; one that is down or busy is asked again later. */
  async #read(id: DatabaseId): Promise<IndexMapDigest | null> {
    try {
      return await this.#directory.lookup(id).ask('index-map.read', {}, { deadlineMs: READ_DEADLINE_MS });
    } catch {
      return this.#kept.get(databaseKey(id))?.map ?? null;
    }
  }
}
