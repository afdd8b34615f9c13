import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { DatabaseIdSchema } from '../wire/database.ts';
import type { DiscoveredDatabase } from './discovery.ts';

/** In SYNC_STATE_DIR. */
const FILE = 'databases.json';
const Known = Compile(
  Type.Array(Type.Object({ id: DatabaseIdSchema, name: Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' }) }))
);

/**
 * What the hub named last, for a process that starts while the hub is away. Names only: accounts are kept nowhere.
 */
export class KnownDatabases {
  readonly #path: string;
  #kept = '';

  constructor(directory: string) {
    this.#path = join(directory, FILE);
  }

  /** @throws whatever the file system throws */
  async keep(databases: readonly DiscoveredDatabase[]): Promise<void> {
    const text = JSON.stringify(databases.map(({ id, coordinates }) => ({ id, name: coordinates.name })));
    if (text === this.#kept) return;
    await writeFile(`${this.#path}.new`, text, { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
    this.#kept = text;
  }

  /** @returns null when nothing is kept, or nothing that can be used */
  async recall(): Promise<readonly DiscoveredDatabase[] | null> {
    try {
      const kept: unknown = JSON.parse(await readFile(this.#path, 'utf8'));
      if (!Known.Check(kept)) return null;
      return kept.map(({ id, name }) => ({ id, coordinates: { host: '', port: 0, user: '', pass: '', name } }));
    } catch {
      return null;
    }
  }
}
