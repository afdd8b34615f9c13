import type ZongJi from '@vlasky/zongji';
import type { BinlogPosition } from './position.ts';
import { tablesOfStatement } from './statement.ts';
import { type LoggedValue, type TouchedLog, TouchedTables } from './touched.ts';

/** Prepared XA transactions whose rows are kept until they commit; rows of more count as unknown. */
const MAX_PREPARED = 256;
/** Files of the log whose beginnings are known: a position may be in one that ends. */
const FILES_KNOWN = 4;
const INTEGER = /^-?\d+$/;

/** Name of the columns of a row that was written before its table had its present columns. */
export const OTHER_COLUMN = '#other';

type Row = Readonly<Record<string, unknown>>;
type RowChange = Row | { readonly before: Row; readonly after: Row };

/** Fields of a binary-log event that are read here; see the package's own types for each event. */
export interface LogEvent {
  getTypeName(): string;
  readonly nextPosition: number;
  readonly [field: string]: unknown;
}

/** The column that divides a table's rows; null: its rows have none. Undefined: the table is not known, or not replicated. */
export type ValueColumn = (table: string) => string | null | undefined;

/** Collects the changed rows of one database from the events of the binary log, one transaction after the other. */
export class LogTransactions {
  readonly #database: string;
  readonly #tables: () => Iterable<string>;
  readonly #valueColumn: ValueColumn;
  readonly #log: TouchedLog;
  readonly #prepared = new Map<string, TouchedTables>();
  #current = new TouchedTables();
  #isStandalone = false;
  /** By file, the time in its head. */
  readonly #beginnings = new Map<string, number>();
  /** The end of the last complete transaction. */
  position: BinlogPosition;
  /** The log is not the one that it was: its files were made anew. */
  isOther = false;
  /** The head of a file was read: until then the log may be another one. */
  hasHead = false;

  /**
   * @param start where the first event stands
   * @param tables the names of the database's tables
   */
  constructor(
    log: TouchedLog,
    start: BinlogPosition & { readonly began?: number },
    of: { readonly database: string; readonly tables: () => Iterable<string>; readonly valueColumn: ValueColumn }
  ) {
    this.#log = log;
    this.position = start;
    if (start.began !== undefined) this.#beginnings.set(start.file, start.began);
    this.#database = of.database;
    this.#tables = of.tables;
    this.#valueColumn = of.valueColumn;
  }

  /** Takes the next event. @param tableMap the reader's tables by their number in the log */
  take(event: LogEvent, tableMap: ZongJi['tableMap']): void {
    switch (event.getTypeName()) {
      case 'Rotate':
        this.#rotate(event);
        return;
      case 'MariadbGtid':
        this.#isStandalone = event['standalone'] === true;
        return;
      case 'WriteRows':
      case 'UpdateRows':
      case 'DeleteRows':
        this.#takeRows(event, tableMap);
        return;
      case 'Query':
        this.#takeStatement(event);
        return;
      case 'XaPrepare':
        this.#prepare(event);
        return;
      case 'Format':
        this.#takeHead(event);
        return;
      case 'Xid':
      case 'MariadbGtidList':
      case 'BinlogCheckpoint':
      case 'Heartbeat':
        this.#endAt(event);
        return;
      case 'TableMap':
      case 'StartEncryption':
      case 'AnnotateRows':
      case 'IntVar':
        return;
      case 'Unknown':
        // The only event without a body, with which a server ends its log when it is stopped in order.
        if (event['size'] === 0) this.#endAt(event);
        else this.takeUnknown();
        return;
      default:
        // Data of statements, incidents: what they changed stands nowhere.
        this.takeUnknown();
    }
  }

  /** Notes when a file began. Where it is another file of the same name, `isOther` is set for good. */
  #takeHead(event: LogEvent): void {
    const { file } = this.position;
    const began = Number(event['timestamp']);
    const known = this.#beginnings.get(file);
    if (known !== undefined && known !== began) this.isOther = true;
    this.#beginnings.set(file, began);
    this.hasHead = true;
    const [oldest] = this.#beginnings.keys();
    if (this.#beginnings.size > FILES_KNOWN) this.#beginnings.delete(oldest!);
    this.#endAt(event);
  }

  /** Returns when a file of the log began, as its head says; undefined where it was not read. */
  beginningOf(file: string): number | undefined {
    return this.#beginnings.get(file);
  }

  /** Notes that the open transaction changed rows that nobody can name. */
  takeUnknown(): void {
    this.#current.isAll = true;
  }

  /** Goes on with the next file. Whether a crash cut the one before, the server's start and `sync_binlog` say: see `isOfOneLog`. */
  #rotate(event: LogEvent): void {
    this.#end({ file: String(event['binlogName']), offset: Number(event['position']) });
  }

  #takeRows(event: LogEvent, tableMap: ZongJi['tableMap']): void {
    const entry = tableMap[Number(event['tableId'])];
    if (!entry || entry.parentSchema !== this.#database) return;
    const { tableName } = entry;
    if (event.getTypeName() !== 'WriteRows') this.#current.noteReplaced(tableName);
    // A table that appeared after the last look at the schema has no column yet.
    const column = this.#valueColumn(tableName) ?? null;
    // The log also has the statement that changed the columns: rows that it misnames are found by looking at the table.
    if (entry.columns?.some(({ name }) => name === OTHER_COLUMN)) {
      this.#current.addAltered(tableName);
      return;
    }
    const at = entry.columns?.findIndex(({ name }) => name === column) ?? -1;
    const images = [event['columns_present_bitmap'], event['columns_present_bitmap2']].map((bits) =>
      hasColumn(bits, at)
    );
    // Without the column in the row as it was, nobody can tell where it was.
    if (column === null || !images[0]) {
      this.#current.addWhole(tableName);
      return;
    }
    this.#current.noteColumn(tableName, column);
    for (const row of event['rows'] as RowChange[]) {
      if (!isUpdate(event, row)) this.#addValue(tableName, row[column]);
      else {
        this.#addValue(tableName, row.before[column]);
        if (images[1]) this.#addValue(tableName, row.after[column]);
      }
    }
  }

  #addValue(table: string, read: unknown): void {
    const value = exactly(read ?? null);
    if (value === undefined) this.#current.addAltered(table);
    else this.#current.add(table, value);
  }

  #takeStatement(event: LogEvent): void {
    const sql = String(event['query']).trim();
    const completed = /^XA (COMMIT|ROLLBACK) (\S+)/i.exec(sql);
    if (completed) this.#complete(completed[1]!.toUpperCase(), completed[2]!.toLowerCase());
    else {
      const changed = tablesOfStatement(sql, String(event['schema']), this.#database, this.#tables());
      if (changed === 'all') this.takeUnknown();
      else
        for (const [table, effect] of changed)
          if (effect === 'moved') this.#current.addWhole(table);
          else this.#current.addAltered(table);
    }
    if (this.#isStandalone || completed || /^(COMMIT|ROLLBACK)\b(?! (WORK )?TO\b)/i.test(sql)) this.#endAt(event);
  }

  /** Keeps a prepared transaction's rows, which stand where it was prepared and count where it is committed. */
  #prepare(event: LogEvent): void {
    if (event['onePhase'] !== true) {
      const hex = (field: string) => `x'${(event[field] as Buffer).toString('hex')}'`;
      const xid = `${hex('xidGtrid')},${hex('xidBqual')},${event['xidFormatId']}`;
      if (this.#prepared.size < MAX_PREPARED) this.#prepared.set(xid, this.#current);
      this.#current = new TouchedTables();
    }
    this.#endAt(event);
  }

  #complete(how: string, xid: string): void {
    const rows = this.#prepared.get(xid);
    this.#prepared.delete(xid);
    if (how === 'ROLLBACK') return;
    if (rows) this.#current.join(rows);
    else this.takeUnknown(); // prepared before this reader began
  }

  #endAt({ nextPosition }: LogEvent): void {
    // Events that the server makes up for a new reader have none.
    if (nextPosition > 0) this.#end({ file: this.position.file, offset: nextPosition });
  }

  #end(to: BinlogPosition): void {
    this.#log.add(this.position, to, this.#current);
    this.#current = new TouchedTables();
    this.position = to;
  }
}

function isUpdate(event: LogEvent, row: RowChange): row is { readonly before: Row; readonly after: Row } {
  return event.getTypeName() === 'UpdateRows' && 'before' in row;
}

function hasColumn(bits: unknown, at: number): boolean {
  return at >= 0 && bits instanceof Uint8Array && ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

/**
 * Returns an integer of the log, text or a BIGINT where a number is not exact; undefined for a value of another column, which had its
 * place when the row was written.
 */
function exactly(read: unknown): LoggedValue | undefined {
  if (read === null || Number.isSafeInteger(read)) return read as number | null;
  if (!INTEGER.test(String(read)) || typeof read === 'object') return undefined;
  const id = BigInt(read as number | string | bigint);
  return Number.isSafeInteger(Number(id)) ? Number(id) : id;
}
