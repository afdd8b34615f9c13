import { workerData } from 'node:worker_threads';
import { type Entry, EntryDirectory } from '../../src/process/entry-directory.ts';

/** Entries that a thread places in the directory that its environment names. */
export interface Placing {
  readonly entries: Readonly<Record<string, Entry>>;
  /** Content of each entry. */
  readonly bytes: Uint8Array;
}

const { entries, bytes } = workerData as Placing;
const directory = new EntryDirectory(entries, () => bytes);
for (const entry of Object.keys(entries)) directory.place(entry);
