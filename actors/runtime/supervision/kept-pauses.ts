import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../src/log.ts';

const FILE = 'paused.json';

/** Keeps in `paused.json` of a state directory which actors an operator paused, and why, so that a pause outlives the process. */
export class KeptPauses {
  readonly #path: string;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #reasons: Map<string, string>;
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string, log: Pick<Logger, 'warn'>) {
    this.#path = join(directory, FILE);
    this.#log = log;
    this.#reasons = new Map(Object.entries(this.#read()));
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
    this.#writing = this.#writing
      .then(() => this.#write())
      .catch((err: unknown) =>
        this.#log.warn({ err }, `${this.#path} cannot be written: a restart forgets the change`)
      );
    await this.#writing;
  }

  #read(): Readonly<Record<string, string>> {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch {
      return {}; // nobody has paused anything yet
    }
    const found = parsed(text);
    if (isPauses(found)) return found;
    this.#log.warn({ path: this.#path }, 'the file of paused actors cannot be read: none of them is paused');
    return {};
  }

  async #write(): Promise<void> {
    const file = await open(`${this.#path}.new`, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(Object.fromEntries(this.#reasons))}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${this.#path}.new`, this.#path);
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
