import { readFileSync } from 'node:fs';
import { appendFile, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';

/** One operation that changed something, or was refused. */
interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** Address of the caller. */
  readonly from: string;
  /** Its path without parameters, or its method: `POST /debug/actors/:dbType/:chain/:network/kill`, `updateconfig`. */
  readonly operation: string;
  /** The object of the operation, such as `indexer/litecoin/regtest`; null where there is none. */
  readonly target: string | null;
  /** The operator's words; null where none were given. */
  readonly reason: string | null;
  /** `done`, or the code or status of the refusal. */
  readonly outcome: string;
}

/** Most entries that are told. */
const ENTRIES_KEPT = 1_000;
/** Bytes from which a new file is begun; the one before is kept, older ones are not. */
const FILE_BYTES = 1_048_576;
const [FILE, OLDER_FILE] = ['audit.jsonl', 'audit.old.jsonl'];

/**
 * Keeps the operations of operators: the last 1,000 in memory, and in the files `audit.jsonl` and `audit.old.jsonl` of the
 * state directory, 1 MiB each. Without a directory it forgets them with the process; the log has each of them too.
 */
export class AuditLog {
  readonly #directory: string | null;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #entries: AuditEntry[];
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string | null, log: Pick<Logger, 'warn'>) {
    this.#directory = directory;
    this.#log = log;
    this.#entries = directory === null ? [] : readEntries(directory).slice(-ENTRIES_KEPT);
  }

  /** The newest entries, newest first. */
  get newest(): readonly AuditEntry[] {
    return this.#entries.toReversed();
  }

  /** Adds an entry. It is durable when `written` is fulfilled. */
  add(entry: AuditEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > ENTRIES_KEPT) this.#entries.shift();
    this.#log.warn({ audit: entry }, `audit: ${entry.operation} ${entry.target ?? ''}: ${entry.outcome}`);
    if (this.#directory === null) return;
    const directory = this.#directory;
    this.#writing = this.#writing
      .then(() => append(directory, entry))
      .catch((err: unknown) =>
        this.#log.warn({ err }, 'the audit log cannot be written: this entry is in the log only')
      );
  }

  /** Fulfilled when all entries are written. */
  get written(): Promise<void> {
    return this.#writing;
  }
}

async function append(directory: string, entry: AuditEntry): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, FILE);
  const size = await stat(file).then(
    ({ size: bytes }) => bytes,
    () => 0
  );
  if (size > FILE_BYTES) await rename(file, join(directory, OLDER_FILE));
  await appendFile(file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
}

/** Returns the entries of both files, oldest first; without lines that a crash left in part. */
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
    return JSON.parse(line) as AuditEntry;
  } catch {
    return null;
  }
}
