import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Deaths of actors in a row while they followed one source, none of them further than the one before. */
export interface Deaths {
  readonly url: string;
  readonly count: number;
}

/** Keeps in a file which source a replica follows, until its actor stops: an actor that finds it comes after a death. */
export class FollowedMemory {
  readonly #path: string;
  #kept: string | undefined;
  #deaths: Deaths | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** @param progress the replica's progress, as text @returns null when the last actor stopped gracefully, or the file cannot be read */
  async findDeaths(progress: string): Promise<Deaths | null> {
    try {
      const kept = Object(JSON.parse(await readFile(this.#path, 'utf8'))) as Record<string, unknown>;
      const { url, deaths, progress: before } = kept;
      if (typeof url !== 'string' || !Number.isSafeInteger(deaths)) return null;
      this.#deaths = { url, count: before === progress ? Number(deaths) + 1 : 1 };
      return this.#deaths;
    } catch {
      return null;
    }
  }

  /** @throws the file system's errors */
  async keep(url: string, progress: string): Promise<void> {
    if (this.#kept === url) return;
    const deaths = this.#deaths?.url === url ? this.#deaths.count : 0;
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await writeFile(this.#path, JSON.stringify({ url, deaths, progress }), { mode: 0o600 });
    this.#kept = url;
  }

  /** @throws the file system's errors */
  async forget(): Promise<void> {
    this.#kept = undefined;
    await rm(this.#path, { force: true });
  }
}
