import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import ZongJi from '@vlasky/zongji';
import { tlsOptions } from '../../../db/connection.ts';
import type { DatabaseCoordinates } from '../../../wire/data/database.ts';
import { onOtherChecksums } from './log-checksums.ts';
import { isOfEvent, type LogFault } from './log-faults.ts';
import { type BinlogPosition, isAtLeast } from './position.ts';
import type { TouchedLog } from './touched.ts';
import { type LogEvent, LogTransactions, OTHER_COLUMN, type ValueColumn } from './transactions.ts';

const FIRST_PAUSE_MS = 500;
/** A right that is granted again, or a server that is back, is used within seconds. */
const LONGEST_PAUSE_MS = 4_000;
/** MariaDB ends the reader of a replica when another with its number comes; these numbers are far above those that people give. */
const READER_IDS = [2 ** 31, 2 ** 32 - 2] as const;
/** The file is gone, or the position is not in it. */
const LOST_POSITION = 1236;

const COLUMNS = `SELECT COLUMN_NAME, COLLATION_NAME, CHARACTER_SET_NAME, COLUMN_COMMENT, COLUMN_TYPE
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`;

/** Fields of a column's definition by which the package reads its values. */
interface ColumnSchema {
  readonly COLUMN_NAME: string;
  readonly CHARACTER_SET_NAME: string | null;
  readonly COLUMN_TYPE: string;
}

/**
 * Returns the same column with its texts left as bytes: only integers are read, and decoding texts costs half of what
 * reading the log does.
 */
function undecoded(column: ColumnSchema): ColumnSchema {
  const { CHARACTER_SET_NAME: charset, COLUMN_TYPE: type } = column;
  if (charset === null) return column;
  return { ...column, CHARACTER_SET_NAME: null, COLUMN_TYPE: /^(var)?char\b/i.test(type) ? 'varbinary' : type };
}

/** Columns of rows that were written before their table had its present ones. No column has such a name. */
function otherColumns(count: number): ColumnSchema[] {
  const column = { COLUMN_NAME: OTHER_COLUMN, CHARACTER_SET_NAME: null, COLUMN_TYPE: 'varbinary' };
  return Array.from({ length: count }, () => column);
}

/** Removes all tables: each is asked for again when its rows come. */
function forgetTables({ tableMap }: ZongJi): void {
  for (const id of Object.keys(tableMap)) delete tableMap[Number(id)];
}

/** The package's reader; a table that is gone by the time its rows are read does not stop it. */
class LogReader extends ZongJi {
  /** Called by the package, which halts for good where it finds no columns. */
  _fetchTableInfo(
    event: { tableId: number; schemaName: string; tableName: string; columnCount: number },
    next: () => void
  ): void {
    const reader = this as unknown as {
      ctrlConnection: {
        query(sql: string, values: string[], done: (fault: Error | null, rows: ColumnSchema[]) => void): void;
      };
      emit(name: 'error', fault: Error): void;
      tableMap: Record<number, { columnSchemas: ColumnSchema[]; parentSchema: string; tableName: string }>;
    };
    reader.ctrlConnection.query(COLUMNS, [event.schemaName, event.tableName], (fault, columnSchemas) => {
      if (fault) {
        reader.emit('error', fault);
        return;
      }
      const isOther = columnSchemas.length !== event.columnCount;
      reader.tableMap[event.tableId] = {
        columnSchemas: isOther ? otherColumns(event.columnCount) : columnSchemas.map(undecoded),
        parentSchema: event.schemaName,
        tableName: event.tableName
      };
      next();
    });
  }
}

/** Follows a server's binary log from one position on, also over lost connections, and notes which rows of one database changed. */
export class BinlogTail {
  readonly #to: DatabaseCoordinates;
  readonly #transactions: LogTransactions;
  #reader: LogReader | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #waiting: (() => void)[] = [];
  #isStopped = false;
  /** Bytes of its connection when it was last found late; null: not yet. */
  #lateBytes: number | null = null;
  /** Number of times that the server has begun to send its log. */
  connections = 0;
  /** Reason why it does not follow at the moment; null while it does. */
  fault: string | null = null;
  /** The position cannot be read any more: what happened since is unknown. */
  isLost = false;

  constructor(
    to: DatabaseCoordinates,
    start: BinlogPosition & { readonly began?: number },
    log: TouchedLog,
    of: { readonly tables: () => Iterable<string>; readonly valueColumn: ValueColumn }
  ) {
    this.#to = to;
    this.#transactions = new LogTransactions(log, start, { database: to.name, ...of });
    this.#open();
  }

  /** Waits until all transactions before a position are noted. @returns false after `deadlineMs`, or at once when that cannot happen */
  async reached(position: BinlogPosition, deadlineMs: number): Promise<boolean> {
    const end = performance.now() + deadlineMs;
    while (!this.#transactions.hasHead || !isAtLeast(this.#transactions.position, position)) {
      const left = end - performance.now();
      if (left <= 0 || this.isLost || this.#isStopped) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      const stop = new AbortController();
      await Promise.race([promise, sleep(left, undefined, { ref: false, signal: stop.signal }).catch(() => undefined)]);
      stop.abort();
    }
    return !this.isLost;
  }

  /** Returns when a file of the log began; undefined where it was not read. */
  beginningOf(file: string): number | undefined {
    return this.#transactions.beginningOf(file);
  }

  /** Ends it. */
  stop(): void {
    this.#isStopped = true;
    this.#close();
    this.#wake();
  }

  /**
   * Notes that it is late. It connects again if it has read nothing since it was late before: a server that went away without a word is
   * not noticed otherwise. A transaction that takes long to read would never end if it began anew each time.
   */
  noteLate(): void {
    if (this.#isStopped || this.isLost || !this.#reader) return;
    const bytes = (this.#reader.connection as { stream?: Socket } | null)?.stream?.bytesRead ?? 0;
    if (bytes === this.#lateBytes) this.#again('the binary log did not arrive in time');
    else this.#lateBytes = bytes;
  }

  #open(): void {
    const { host, port, socketPath, user, pass } = this.#to;
    const place = { ...(socketPath ? { socketPath } : { host, port }), ...tlsOptions(this.#to) };
    const reader = new LogReader({ ...place, user, password: pass });
    this.#reader = reader;
    this.#lateBytes = null;
    reader.on('error', (fault: LogFault) => {
      if (reader === this.#reader) this.#onFault(fault);
    });
    let hasBegun = false;
    reader.on('binlog', (event) => {
      if (reader !== this.#reader) return;
      if (!hasBegun) this.connections += 1;
      hasBegun = true;
      // Another start of the server may give a table the number that it had before, with other columns.
      if (event.getTypeName() === 'Format') forgetTables(reader);
      [this.#pauseMs, this.fault] = [FIRST_PAUSE_MS, null];
      this.#transactions.take(event as unknown as LogEvent, reader.tableMap);
      if (this.#transactions.isOther) this.#lose('the binary log was made anew (RESET MASTER)');
      this.#wake();
    });
    reader.on('ready', () => {
      // Between two definitions the second connection of the package rests, for as long as it takes.
      reader.ctrlConnection?.query('SET SESSION wait_timeout = 31536000', () => undefined);
      onOtherChecksums(reader, () => {
        if (reader === this.#reader) this.#lose('binlog_checksum was changed');
      });
    });
    const { file, offset } = this.#transactions.position;
    reader.start({
      serverId: randomInt(...READER_IDS),
      filename: file,
      position: offset,
      includeSchema: { [this.#to.name]: true }
    });
  }

  #onFault(fault: LogFault): void {
    const { code, errno, message } = fault;
    // Its rows are unknown, and the next event comes.
    if (isOfEvent(fault)) {
      this.#transactions.takeUnknown();
      return;
    }
    if (errno === LOST_POSITION) {
      this.#lose(`its position in the binary log is gone (${message})`);
      return;
    }
    this.#again(message || code || 'the connection failed');
  }

  #lose(why: string): void {
    [this.isLost, this.fault] = [true, why];
    this.#close();
    this.#wake();
  }

  #again(why: string): void {
    this.fault = why;
    this.#close();
    const pause = this.#pauseMs;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pause);
    setTimeout(() => {
      if (!this.#isStopped && !this.#reader) this.#open();
    }, pause).unref();
  }

  #close(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.stop();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
