import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { type Alarm, alarmOf } from '../wire/state/alarm.ts';
import { quoteText } from './sql-literal.ts';

/** Services that write the database of a chain, one process each, under an advisory lock. */
export type Writer = 'decoder' | 'indexer' | 'tracker';

type Named = Pick<DatabaseCoordinates, 'name'>;

/** The longest name that MariaDB takes. */
const LONGEST_NAME = 64;
/** Tables that a writer of ours makes. */
const OWN_TABLES: Readonly<Record<Exclude<Writer, 'tracker'>, string>> = {
  decoder: 'decoder_base',
  indexer: 'ledger_base'
};
/** Without a writer: a restart takes less. */
const PATIENCE_MS = 5_000;

/** Returns the name of the lock that the one writer of a database holds. */
export function writerLock(writer: Writer, { name }: Named): string {
  return `${writer} ${name}`;
}

/** Returns the name of the lock that it holds beside it while it does not go on. Both end with its connection. */
export function waitingLock(writer: Writer, { name }: Named): string {
  return `${writer} waits ${name}`.slice(0, LONGEST_NAME);
}

/** Returns the name of the lock that a replica holds of the database that it writes. */
export function replicaLock(database: string): string {
  return `platform:${database}`;
}

/** State of a database's writer, as the database shows it. */
export interface WriterLook {
  /** Whether a writer of ours, or a replica of ours, holds its lock. */
  readonly isHeld: boolean;
  /** Whether it says that it does not go on. */
  readonly isWaiting: boolean;
  /** Whether a writer of ours made the tables. */
  readonly isOwn: boolean;
}

/** Looks whether somebody writes a database. @param query runs a statement in it */
export async function lookAtWriter(
  query: (sql: string) => Promise<readonly Record<string, unknown>[]>,
  writer: keyof typeof OWN_TABLES,
  database: Named
): Promise<WriterLook> {
  const isUsed = (lock: string) => `IS_USED_LOCK(${quoteText(lock)}) IS NOT NULL`;
  const [found] = await query(
    `SELECT ${isUsed(writerLock(writer, database))} OR ${isUsed(replicaLock(database.name))} AS held,
       ${isUsed(waitingLock(writer, database))} AS waiting,
       EXISTS (SELECT 1 FROM information_schema.TABLES
         WHERE TABLE_SCHEMA = ${quoteText(database.name)} AND TABLE_NAME = ${quoteText(OWN_TABLES[writer])}) AS own`
  );
  const flag = (name: string) => Number(found?.[name] ?? 0) === 1;
  return { isHeld: flag('held'), isWaiting: flag('waiting'), isOwn: flag('own') };
}

/**
 * Tells from outside whether the writer of a database has stopped. Other writers than ours hold no lock: of their databases nothing
 * is told, nor of one that grows without a lock, as a server does that follows another.
 */
export class WriterWatch {
  readonly #writer: Writer;
  #heldAt: number | null = null;
  #isHeld = false;
  #isKnown = false;
  #height: number | null = null;
  #alarm: Alarm | null = null;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** Reason why the database does not go on; null while it does. */
  get alarm(): Alarm | null {
    return this.#alarm;
  }

  /** Takes a look. @param height the newest block @param now as monotonicMs() tells it */
  note({ isHeld, isWaiting, isOwn }: WriterLook, height: number | null, now: number): void {
    const isFirst = this.#heldAt === null;
    const isLong = !isHeld && !this.#isHeld && !isFirst && now - this.#heldAt! > PATIENCE_MS;
    const grewAlone = isLong && height !== this.#height;
    if (isHeld || isFirst) this.#heldAt = now;
    this.#isKnown = isHeld || (!grewAlone && (this.#isKnown || (isFirst && isOwn)));
    this.#isHeld = isHeld;
    this.#height = height;
    const isGone = this.#isKnown && now - this.#heldAt! >= PATIENCE_MS;
    if (isWaiting) this.#raise(`the ${this.#writer} does not go on`, now);
    else if (isGone) this.#raise(`no ${this.#writer} writes the database`, this.#heldAt!);
    else this.#alarm = null;
  }

  #raise(reason: string, now: number): void {
    this.#alarm = alarmOf(new PlatformError('UPSTREAM_STOPPED', { reason }), this.#alarm, now);
  }
}
