import type { SourceRecord } from '../parts/source-set.ts';

const MAX_REMEMBERED = 1_000;

/** A source's report that differs from the agreed one. */
interface Contradiction {
  readonly record: SourceRecord;
  readonly height: number;
  readonly hash: string;
  readonly since: number;
}

/** Reports that contradict the agreed hashes, until it is clear whether their sources stay with them. */
export class Contradictions {
  readonly #found = new Map<string, Contradiction>();

  /** Remembers the first one of a source about a block, 1000 in all. */
  note(record: SourceRecord, height: number, hash: string): void {
    const key = `${height} ${record.client.url}`;
    if (this.#found.size >= MAX_REMEMBERED || this.#found.has(key)) return;
    this.#found.set(key, { record, height, hash, since: performance.now() });
  }

  /** Removes and returns the reports that are at least this many milliseconds old. */
  take(ageMs: number): readonly Contradiction[] {
    const old = [...this.#found].filter(([, { since }]) => performance.now() - since >= ageMs);
    for (const [key] of old) this.#found.delete(key);
    return old.map(([, contradiction]) => contradiction);
  }

  clear(): void {
    this.#found.clear();
  }
}
