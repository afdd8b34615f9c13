import type { Scheduler } from './scheduler.ts';

const SLOWEST_MS = 5;

interface Handle {
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A state directory in memory: each call takes its time, and a thread may die before it is done. */
export class MemoryFiles {
  readonly #scheduler: Scheduler;
  readonly #changed: () => void;
  /** Probability that there is no space, from 0 to 1. */
  full = 0;
  /** Paths that could not be written the last time. */
  readonly refused = new Set<string>();
  readonly #texts = new Map<string, string>();

  constructor(scheduler: Scheduler, changed: () => void) {
    this.#scheduler = scheduler;
    this.#changed = changed;
  }

  /** Files whose names end so. */
  count(ending: string): number {
    return [...this.#texts.keys()].filter((path) => path.endsWith(ending)).length;
  }

  readFile(path: string): Promise<string> {
    return this.#later(() => {
      const text = this.#texts.get(path);
      if (text === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
      return text;
    });
  }

  writeFile(path: string, text: string): Promise<void> {
    return this.#later(() => {
      this.refused.add(path);
      if (this.#scheduler.chance(this.full)) throw Object.assign(new Error('no space is left'), { code: 'ENOSPC' });
      this.refused.delete(path);
      this.#texts.set(path, text);
      this.#changed();
    });
  }

  rm(path: string): Promise<void> {
    return this.#later(() => {
      this.#texts.delete(path);
      this.#changed();
    });
  }

  mkdir(_path: string): Promise<void> {
    return this.#later(() => undefined);
  }

  appendFile(path: string, text: string): Promise<void> {
    return this.writeFile(path, `${this.#texts.get(path) ?? ''}${text}`);
  }

  readdir(path: string): Promise<string[]> {
    const names = () => [...this.#texts.keys()].filter((each) => each.startsWith(`${path}/`));
    return this.#later(() => names().map((each) => each.slice(path.length + 1)));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#later(() => {
      this.#texts.set(to, this.#texts.get(from)!);
      this.#texts.delete(from);
      this.#changed();
    });
  }

  /** Opens a file. Writes are there at once; until a sync a crash of the machine could take them, which is not simulated. */
  async open(path: string): Promise<Handle> {
    await this.#later(() => undefined);
    return {
      writeFile: (text) => this.writeFile(path, text),
      sync: () => this.#later(() => undefined),
      close: () => this.#later(() => undefined)
    };
  }

  #later<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#scheduler.after(this.#scheduler.delay(0, SLOWEST_MS), () => {
        try {
          resolve(work());
        } catch (caught) {
          reject(caught as Error);
        }
      });
    });
  }
}
