import { readFileSync } from 'node:fs';
import { appendFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import type { Logger } from '../../log.ts';
import { openPrivateDirectory } from '../../process/private-directory.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { OrNull } from '../../wire/or-null.ts';

const TextOrNull = OrNull(Type.String());
/** One operation that changed something, or was refused. */
export const AuditEntrySchema = Type.Object({
  at: Type.String({ description: 'ISO 8601' }),
  from: Type.String({ description: 'address of the caller' }),
  /** Its path without parameters, or its method: `POST /debug/actors/:dbType/:chain/:network/kill`, `updateconfig`. */
  operation: Type.String(),
  /** The object of the operation, such as `indexer/litecoin/regtest`; null where there is none. */
  target: TextOrNull,
  /** The operator's words; null where none were given. */
  reason: TextOrNull,
  outcome: Type.String({ description: 'done, or the status of the refusal' })
});
type AuditEntry = Static<typeof AuditEntrySchema>;

const isEntry = shapeOf(AuditEntrySchema);

/** Most letters of a target. */
const MOST_LETTERS = 200;
/** Most entries of an answer. */
const ENTRIES_KEPT = 1_000;
/** Bytes from which a new file is begun; the one before is kept, older ones are not. */
const FILE_BYTES = 1_048_576;
const [FILE, OLDER_FILE] = ['audit.jsonl', 'audit.old.jsonl'];

/**
 * Keeps the operations of operators: the last 1,000 in memory, and in the files `audit.jsonl` and `audit.old.jsonl` of a
 * directory, 1 MiB each. Without a directory it forgets them with the process; the log has each of them too.
 */
export class AuditLog {
  readonly #directory: string | null;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #entries: AuditEntry[];
  /** Lines that wait for the write before them. */
  #waiting = '';
  #writing: Promise<void> = Promise.resolve();
  /** The file may end in the middle of a line: a crash, or a full disk, cut it. */
  #isCut = true;

  constructor(directory: string | null, log: Pick<Logger, 'warn'>) {
    this.#directory = directory;
    this.#log = log;
    this.#entries = directory === null ? [] : readEntries(directory).slice(-ENTRIES_KEPT);
  }

  /** The newest entries, newest first. */
  get newest(): readonly AuditEntry[] {
    return this.#entries.toReversed();
  }

  /** Adds an entry, of a long target its beginning. It is durable when `written` is fulfilled. */
  add(given: AuditEntry): void {
    const entry = { ...given, target: given.target?.slice(0, MOST_LETTERS) ?? null };
    this.#entries.push(entry);
    if (this.#entries.length > ENTRIES_KEPT) this.#entries.shift();
    this.#log.warn({ audit: entry }, `audit: ${entry.operation} ${entry.target ?? ''}: ${entry.outcome}`);
    if (this.#directory === null) return;
    const directory = this.#directory;
    this.#waiting += `${JSON.stringify(entry)}\n`;
    this.#writing = this.#writing
      .then(() => this.#write(directory))
      .catch((err: unknown) =>
        this.#log.warn({ err }, 'the audit log cannot be written: its last entries are in the log only')
      );
  }

  /** Writes what waits, at once: under a load many entries wait for one write. */
  async #write(directory: string): Promise<void> {
    const lines = this.#waiting;
    if (lines === '') return;
    this.#waiting = '';
    const text = `${this.#isCut ? '\n' : ''}${lines}`;
    this.#isCut = true;
    await append(directory, text);
    this.#isCut = false;
  }

  /** Fulfilled when all entries are written. */
  get written(): Promise<void> {
    return this.#writing;
  }
}

async function append(directory: string, text: string): Promise<void> {
  await openPrivateDirectory(directory, 'STATE_DIR');
  const file = join(directory, FILE);
  const size = await stat(file).then(
    ({ size: bytes }) => bytes,
    () => 0
  );
  if (size > FILE_BYTES) await rename(file, join(directory, OLDER_FILE));
  await appendFile(file, text, { mode: 0o600, flush: true });
}

/** Returns the entries of both files, oldest first; without lines that a crash left in part, or that are none. */
function readEntries(directory: string): AuditEntry[] {
  return [OLDER_FILE, FILE].flatMap((name) => {
    const lines = textOf(join(directory, name)).split('\n');
    return lines.flatMap((line) => entryOf(line) ?? []);
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it does not exist yet
  }
}

function entryOf(line: string): AuditEntry | null {
  try {
    const found: unknown = JSON.parse(line);
    return isEntry.Check(found) ? found : null;
  } catch {
    return null;
  }
}
