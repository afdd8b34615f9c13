import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { DatabaseIdSchema } from '../wire/data/database.ts';
import { shapeOf } from '../wire/data/shape.ts';
import type { DiscoveredDatabase } from './discovery.ts';

/** File in SYNC_STATE_DIR. */
const FILE = 'databases.json';
const Known = shapeOf(
  Type.Object({
    mode: Type.String(),
    hubs: Type.Array(Type.String()),
    databases: Type.Array(Type.Object({ id: DatabaseIdSchema, name: Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' }) }))
  })
);

/** Mode of the asking process, and the hubs that it asks. */
interface AskedHubs {
  /** SYNC_MODE. */
  readonly mode: string;
  /** `host:port` of each. */
  readonly hubs: readonly string[];
}

/**
 * Databases that the hub named last, for a process that starts while the hub is away. Only names are kept, never accounts.
 *
 * A record by a process of the other mode, or about other hubs, counts as absent.
 */
export class KnownDatabases {
  readonly #path: string;
  readonly #asked: AskedHubs;
  #kept = '';

  constructor(directory: string, asked: AskedHubs) {
    this.#path = join(directory, FILE);
    this.#asked = asked;
  }

  /** @throws whatever the file system throws */
  async keep(databases: readonly DiscoveredDatabase[]): Promise<void> {
    const named = databases.map(({ id, coordinates }) => ({ id, name: coordinates.name }));
    const text = JSON.stringify({ ...this.#asked, databases: named });
    if (text === this.#kept) return;
    await writeFile(`${this.#path}.new`, text, { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
    this.#kept = text;
  }

  /** @returns null when nothing is kept, or nothing that can be used */
  async recall(): Promise<readonly DiscoveredDatabase[] | null> {
    try {
      const kept: unknown = JSON.parse(await readFile(this.#path, 'utf8'));
      const { mode, hubs } = this.#asked;
      if (!Known.Check(kept) || kept.mode !== mode || !kept.hubs.some((hub) => hubs.includes(hub))) return null;
      return kept.databases.map(({ id, name }) => ({
        id,
        coordinates: { host: '', port: 0, user: '', pass: '', name }
      }));
    } catch {
      return null;
    }
  }
}
