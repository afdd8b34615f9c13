import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../src/log.ts';
import { openPrivateDirectory } from '../../../src/process/private-directory.ts';

const FILE = 'paused.json';

/**
 * Keeps in `paused.json` of a state directory which actors an operator paused, and why, so that a pause outlives the process. Without
 * a directory it ends with the process.
 */
export class KeptPauses {
  readonly #directory: string | null;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #reasons: Map<string, string>;
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string | null, log: Pick<Logger, 'warn'>) {
    this.#directory = directory;
    this.#log = log;
    this.#reasons = new Map(directory === null ? [] : Object.entries(this.#read(join(directory, FILE))));
  }

  /** Returns the reason for which an actor is paused; undefined if it is not. */
  reasonOf(key: string): string | undefined {
    return this.#reasons.get(key);
  }

  /** Notes a pause, or its end by null. It is durable when this is fulfilled; a disk that refuses is logged. */
  async note(key: string, reason: string | null): Promise<void> {
    if (reason === null && !this.#reasons.has(key)) return;
    if (reason === null) this.#reasons.delete(key);
    else this.#reasons.set(key, reason);
    const directory = this.#directory;
    if (directory === null) return;
    this.#writing = this.#writing
      .then(() => this.#write(directory))
      .catch((err: unknown) =>
        this.#log.warn({ err }, `${join(directory, FILE)} cannot be written: a restart forgets the change`)
      );
    await this.#writing;
  }

  #read(path: string): Readonly<Record<string, string>> {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch {
      return {}; // nobody has paused anything yet
    }
    const found = parsed(text);
    if (isPauses(found)) return found;
    this.#log.warn({ path }, 'the file of paused actors cannot be read: none of them is paused');
    return {};
  }

  async #write(directory: string): Promise<void> {
    await openPrivateDirectory(directory, 'STATE_DIR');
    const path = join(directory, FILE);
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(Object.fromEntries(this.#reasons))}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }
}

function isPauses(value: unknown): value is Readonly<Record<string, string>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((reason) => typeof reason === 'string');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
