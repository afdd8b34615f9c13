import { workerData } from 'node:worker_threads';
import { type Entry, EntryDirectory } from '../../src/process/entry-directory.ts';

/** What a thread places in the directory that its environment names. */
export interface Placing {
  readonly entries: Readonly<Record<string, Entry>>;
  /** Of each entry. */
  readonly bytes: Uint8Array;
  /** Not 0 when the thread is done. */
  readonly done: Int32Array;
}

const { entries, bytes, done } = workerData as Placing;
try {
  const directory = new EntryDirectory(entries, () => bytes);
  for (const entry of Object.keys(entries)) directory.place(entry);
} finally {
  Atomics.add(done, 0, 1);
}
