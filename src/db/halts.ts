import { pages } from './pages.ts';

/** A durable halt of a writer: it stands until an operator, a rollback or the writer itself ends it. */
export interface WriterHalt {
  /** `ROLLBACK_TOO_DEEP`, `LEDGER_INSANE`. */
  readonly code: string;
  readonly reason: string;
  /** Height of the writer's newest block; null where an earlier release did not note it. */
  readonly block_index: number | null;
}

/** Codes of the events that decide whether a halt stands, the newest one alone. */
const VERDICTS = "'HALT', 'HALT_CLEARED', 'HALT_ENDED', 'REORG'";

/** Runs a statement on the writer's connection. */
type Query = (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

interface HaltsOptions {
  readonly query: Query;
  /** SQL of the present time, as the column `events.time` takes it. */
  readonly time: 'UNIX_TIMESTAMP()' | 'UTC_TIMESTAMP()';
  /** Makes a reason fit the column `events.data`. Default: as it is. */
  readonly fit?: (reason: string) => string;
}

/**
 * The halts of a database that one process writes, kept in its table `events (time, code, data)`.
 *
 * A replica's halt is not among them: the specification gives it the table `sync_halt` with one row, which other clients
 * of a source read and write as well, and a replica has no table `events`.
 */
export class Halts {
  readonly #query: Query;
  readonly #time: string;
  readonly #fit: (reason: string) => string;

  constructor({ query, time, fit = (reason) => reason }: HaltsOptions) {
    this.#query = query;
    this.#time = time;
    this.#fit = fit;
  }

  /** Returns the halt that stands. */
  async read(): Promise<WriterHalt | null> {
    const last = await this.#lastVerdict();
    return last?.code === 'HALT' ? last.halt : null;
  }

  /** Returns whether an operator has allowed the deep rollback that was refused, with the newest block at this height. */
  async isRollbackAllowed(height: number): Promise<boolean> {
    const last = await this.#lastVerdict();
    if (last?.code !== 'HALT_CLEARED') return false;
    const { code, block_index } = last.halt;
    return code === 'ROLLBACK_TOO_DEEP' && (block_index === null || block_index === height);
  }

  /** Makes a halt stand. */
  async write({ code, reason, block_index }: WriterHalt): Promise<void> {
    await this.note('HALT', [{ code, reason: this.#fit(reason), block_index }]);
  }

  /** Ends a halt by an operator's word, which allows the rollback that was refused. @returns the halt that stood */
  async clear(): Promise<WriterHalt | null> {
    const halt = await this.read();
    if (halt) await this.note('HALT_CLEARED', [{ code: halt.code, block_index: halt.block_index }]);
    return halt;
  }

  /** Ends a halt whose cause is gone; no rollback is allowed by it. */
  async end(): Promise<void> {
    await this.note('HALT_ENDED', []);
  }

  /** Notes an event with its time. */
  async note(code: string, data: object): Promise<void> {
    await this.noteAll([{ code, data }]);
  }

  /** Notes events with their time, in their order, in few statements. */
  async noteAll(events: readonly { readonly code: string; readonly data: object }[]): Promise<void> {
    for (const part of pages(events.map(({ code, data }) => [code, JSON.stringify(data)]))) {
      const rows = part.map(() => `(${this.#time}, ?, ?)`).join(', ');
      await this.#query(`INSERT INTO events (time, code, data) VALUES ${rows}`, part.flat());
    }
  }

  async #lastVerdict(): Promise<{ readonly code: string; readonly halt: WriterHalt } | null> {
    const [last] = await this.#query(
      `SELECT code, data FROM events WHERE code IN (${VERDICTS}) ORDER BY id DESC LIMIT 1`
    );
    return last ? { code: String(last['code']), halt: readHalt(String(last['data'])) } : null;
  }
}

/** Reads the data of an event. Earlier releases wrote no code (decoder, tracker), or no height and no array (indexer). */
function readHalt(data: string): WriterHalt {
  const [halt = {}] = [JSON.parse(data)].flat() as [Partial<WriterHalt>?];
  return { code: 'ROLLBACK_TOO_DEEP', reason: '', ...halt, block_index: halt.block_index ?? null };
}
