import type { SourceRecord } from '../parts/source-set.ts';

const MAX_REMEMBERED = 1_000;

/** What a source said of a block, against what was agreed on. */
interface Contradiction {
  readonly record: SourceRecord;
  readonly height: number;
  readonly hash: string;
  readonly since: number;
}

/** Reports that contradict what was agreed on, until it is known whether their sources stay with them. */
export class Contradictions {
  readonly #found = new Map<string, Contradiction>();

  /** Remembers the first one of a source about a block, 1000 in all. */
  note(record: SourceRecord, height: number, hash: string): void {
    const key = `${height} ${record.client.url}`;
    if (this.#found.size >= MAX_REMEMBERED || this.#found.has(key)) return;
    this.#found.set(key, { record, height, hash, since: performance.now() });
  }

  /** Those that were noted so many milliseconds ago, or earlier; they are forgotten. */
  take(ageMs: number): readonly Contradiction[] {
    const old = [...this.#found].filter(([, { since }]) => performance.now() - since >= ageMs);
    for (const [key] of old) this.#found.delete(key);
    return old.map(([, contradiction]) => contradiction);
  }

  clear(): void {
    this.#found.clear();
  }
}
