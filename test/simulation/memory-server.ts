import { EventEmitter } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { format, type SqlValue } from 'mysql2';
import { parseCreateTable } from '../../src/db/create-table-parser.ts';
import { printCreateTable, readCreateTable, statementsOf, translate, withoutTag } from './dialect.ts';

/** How a connection's statements fare. */
export interface Weather {
  /** Does something some time later, also when the thread that asked for it is dead by then. */
  later(work: () => void): void;
  /** Does something some time later, unless that thread is dead by then. */
  whenAlive(work: () => void): void;
  connected(connection: MemoryConnection): void;
  /** A statement was met that this database does not know: it must learn it. */
  refused(why: string): void;
  /** `lost`: it is not executed, and the connection gone; `unanswered`: it is executed, and the connection gone. */
  fate(sql: string): 'answered' | 'lost' | 'unanswered';
  /** Text of a DATETIME(6). */
  now(): string;
  /** Sees each change of what is committed, with the connection that made it; null: a connection's end did. */
  committed(by: MemoryConnection, sql: string): void;
}

type Answer = (fault: Error | null, result?: unknown) => void;
type Row = Record<string, unknown>;

const servers = new Map<string, MemoryServer>();
const CALM: Weather = {
  later: (work) => void setImmediate(work),
  whenAlive: (work) => void setImmediate(work),
  connected: () => undefined,
  refused: () => undefined,
  fate: () => 'answered',
  now: () => new Date().toISOString().slice(0, 23).replace('T', ' '),
  committed: () => undefined
};
/** What is asked of the server's settings. */
const VARIABLES: Readonly<Record<string, number>> = {
  innodb_flush_log_at_trx_commit: 1,
  max_allowed_packet: 16_777_216
};
const DUPLICATE_KEY = 1062;
const UNKNOWN_STATEMENT = 1064;
/** Digests are not simulated: this server is one that lacks what they are made with. */
const UNKNOWN_FUNCTION = 1305;
const UNIQUE_VIOLATIONS = new Set([1555, 2067]);
/** What these tables of information_schema hold is what CREATE TABLE said. */
const INFORMATION = [
  'COLUMNS (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, GENERATION_EXPRESSION)',
  'TABLES (TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE)',
  'STATISTICS (TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, COLLATION, SUB_PART, INDEX_TYPE, SEQ_IN_INDEX)',
  'CHECK_CONSTRAINTS (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE)',
  'KEY_COLUMN_USAGE (CONSTRAINT_SCHEMA, TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, REFERENCED_TABLE_SCHEMA, ORDINAL_POSITION)',
  'REFERENTIAL_CONSTRAINTS (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE)',
  'SCHEMATA (SCHEMA_NAME)'
];

/** The server that a host's name stands for; undefined for a real one. */
export const serverAt = (host: string): MemoryServer | undefined => servers.get(host);

const lost = (why: string) => Object.assign(new Error(why), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true });

/**
 * The in-memory database of the simulation: one database of one server behind the driver's own interface, its statements run by
 * SQLite. One transaction is open at a time, whoever else asks waits for its end; that is coarser than MariaDB, and never laxer.
 */
export class MemoryServer {
  readonly database: string;
  readonly weather: Weather;
  readonly #sqlite = new DatabaseSync(':memory:');
  readonly #connections = new Set<MemoryConnection>();
  readonly #locks = new Map<string, MemoryConnection>();
  #waiting: { readonly connection: MemoryConnection; readonly begin: () => void }[] = [];
  #owner: MemoryConnection | undefined;
  #changed = false;
  #id = 0;
  isUp = true;

  constructor(host: string, database: string, weather: Weather = CALM) {
    this.database = database;
    this.weather = weather;
    this.#sqlite.function('DATABASE', () => database);
    this.#sqlite.function('UTC_TIMESTAMP', { varargs: true }, () => weather.now());
    for (const table of INFORMATION) this.#sqlite.exec(`CREATE TABLE information_schema_${table}`);
    this.#sqlite.exec(`INSERT INTO information_schema_SCHEMATA VALUES ('${database}')`);
    servers.set(host, this);
  }

  /** What is committed, for whoever looks on; there must be no transaction under way. */
  read<T = Row>(sql: string): T[] {
    return this.#sqlite.prepare(translate(sql)).all() as unknown as T[];
  }

  get isInTransaction(): boolean {
    return this.#owner !== undefined;
  }

  holdsLock(connection: MemoryConnection): boolean {
    return this.#locks.get(`platform:${this.database}`) === connection;
  }

  async connect(): Promise<MemoryConnection> {
    await new Promise<void>((resolve) => this.weather.whenAlive(resolve));
    if (!this.isUp) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', fatal: true });
    const connection = new MemoryConnection(this, ++this.#id);
    this.#connections.add(connection);
    this.weather.connected(connection);
    return connection;
  }

  /** Ends every connection at once, as a killed server does. */
  crash(): void {
    this.isUp = false;
    for (const connection of this.#connections) {
      connection.breakOff(lost('the server is gone'));
      this.end(connection);
    }
  }

  /** A connection's end as the server sees it: what is not committed is undone, its locks are free. */
  end(connection: MemoryConnection): void {
    if (!this.#connections.delete(connection)) return;
    for (const [name, holder] of this.#locks) if (holder === connection) this.#locks.delete(name);
    this.#waiting = this.#waiting.filter((each) => each.connection !== connection);
    if (this.#owner === connection) {
      this.#sqlite.exec('ROLLBACK');
      this.#owner = undefined;
      this.#changed = false;
    }
    this.#wake();
  }

  isKnown(connection: MemoryConnection): boolean {
    return this.#connections.has(connection);
  }

  /** The process list, for the reaper. */
  get running(): MemoryConnection[] {
    return [...this.#connections].filter(({ statement }) => statement !== null);
  }

  /** Runs a statement now, or when the transaction that another connection has open has ended. */
  run(connection: MemoryConnection, sql: string, answer: Answer): void {
    const plain = withoutTag(sql);
    const wait = () => this.#waiting.push({ connection, begin: () => this.run(connection, sql, answer) });
    if (!this.#connections.has(connection)) return;
    const lock = /^SELECT GET_LOCK\('([^']*)', (\d+)\)/.exec(plain);
    const own = this.#answerItself(plain);
    if (lock) this.#takeLock(connection, lock[1]!, Number(lock[2]), answer);
    else if (own) answer(null, own);
    else if (this.#owner && this.#owner !== connection) wait();
    else {
      const { fault, result } = this.#try(connection, plain);
      answer(fault, result);
    }
  }

  #try(connection: MemoryConnection, sql: string): { readonly fault: Error | null; readonly result?: unknown } {
    try {
      return { fault: null, result: this.#execute(connection, sql) };
    } catch (caught) {
      const fault = driverError(caught as Error, sql);
      if (fault.errno === UNKNOWN_STATEMENT) this.weather.refused(fault.message);
      return { fault };
    }
  }

  /** Statements about the server itself. */
  #answerItself(sql: string): Row[] | { affectedRows: number } | null {
    if (/^(SET|USE|DO) /.test(sql)) return { affectedRows: 0 };
    const [, variable = '', as = ''] = /^SELECT @@(?:GLOBAL\.)?(\w+) AS (\w+)$/.exec(sql) ?? [];
    if (variable in VARIABLES) return [{ [as]: VARIABLES[variable] }];
    const [, used] = /^SELECT IS_USED_LOCK\('([^']*)'\)/.exec(sql) ?? [];
    if (used !== undefined) return [{ holder: this.#locks.get(used)?.id ?? null }];
    const [, tag] = /PROCESSLIST WHERE BINARY LEFT\(INFO, CHAR_LENGTH\('(.*?)'\)\)/.exec(sql) ?? [];
    if (tag !== undefined)
      return this.running.filter(({ statement }) => statement!.startsWith(tag)).map(({ id }) => ({ id }));
    const [, asked] = /^SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE ID = (\d+)/.exec(sql) ?? [];
    if (asked !== undefined)
      return this.running.filter(({ id }) => id === Number(asked)).map(({ statement }) => ({ info: statement }));
    const [, killed] = /^KILL CONNECTION (\d+)/.exec(sql) ?? [];
    if (killed === undefined) return null;
    for (const connection of [...this.#connections].filter(({ id }) => id === Number(killed))) {
      connection.breakOff(lost('killed'));
      this.end(connection);
    }
    return { affectedRows: 0 };
  }

  #takeLock(connection: MemoryConnection, name: string, patienceS: number, answer: Answer): void {
    const holder = this.#locks.get(name);
    if (holder === undefined || holder === connection) {
      this.#locks.set(name, connection);
      answer(null, [{ ok: 1 }]);
      return;
    }
    const waiter = { connection, begin: () => again() };
    const timer = setTimeout(() => {
      this.#waiting = this.#waiting.filter((each) => each !== waiter);
      answer(null, [{ ok: 0 }]);
    }, patienceS * 1000);
    const again = () => {
      if (this.#locks.has(name)) return void this.#waiting.push(waiter);
      clearTimeout(timer);
      this.#takeLock(connection, name, patienceS, answer);
    };
    this.#waiting.push(waiter);
  }

  #execute(connection: MemoryConnection, sql: string): Row[] | { affectedRows: number } {
    const verb = /^\(?(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? '';
    if (verb === 'CREATE') return this.#createTable(sql);
    // What later versions of the marker add is in its CREATE TABLE.
    if (/^ALTER TABLE sync_state ADD COLUMN IF NOT EXISTS/.test(sql)) return { affectedRows: 0 };
    if (sql.includes('CRC32C('))
      throw Object.assign(new Error('FUNCTION CRC32C does not exist'), { errcode: UNKNOWN_FUNCTION });
    const text = translate(sql);
    if (verb === 'SELECT')
      return this.#sqlite
        .prepare(text)
        .all()
        .map((row) => ({ ...row }));
    if (verb === 'BEGIN' || verb === 'START') {
      this.#sqlite.exec('BEGIN');
      this.#owner = connection;
      return { affectedRows: 0 };
    }
    if (verb === 'COMMIT' || verb === 'ROLLBACK') {
      if (this.#owner === connection) this.#sqlite.exec(verb);
      this.#owner = undefined;
      if (verb === 'COMMIT' && this.#changed) this.weather.committed(connection, sql);
      this.#changed = false;
      this.#wake();
      return { affectedRows: 0 };
    }
    const { changes } = this.#sqlite.prepare(text).run();
    if (this.#owner) this.#changed = true;
    else this.weather.committed(connection, sql);
    return { affectedRows: Number(changes) };
  }

  /** Tables that travel are described as MariaDB prints them; of the sync-owned ones it is enough to know the columns. */
  #createTable(sql: string): { affectedRows: number } {
    const parts = readCreateTable(sql);
    const { name } = parts;
    const known = this.read(`SELECT 1 FROM information_schema.TABLES WHERE TABLE_NAME = '${name}'`);
    if (known.length > 0) return { affectedRows: 0 };
    this.#sqlite.exec(printCreateTable(parts));
    this.#insert('TABLES', [this.database, name, 'BASE TABLE', 'InnoDB']);
    const isPrinted = sql.startsWith('CREATE TABLE `');
    const { columns, keys } = isPrinted
      ? parseCreateTable(name, sql)
      : { columns: parts.columns.map(plainColumn), keys: [] };
    for (const [index, column] of columns.entries()) {
      const { type, nullable, default: standard, charset, collation, autoIncrement } = column;
      const [nulls, extra] = [nullable ? 'YES' : 'NO', autoIncrement ? 'auto_increment' : ''];
      const row = [column.name, index + 1, type, nulls, standard, charset, collation, extra, null];
      this.#insert('COLUMNS', [this.database, name, ...row]);
    }
    for (const key of keys) {
      for (const [index, { name: column, prefix }] of key.columns.entries())
        this.#insert('STATISTICS', [
          this.database,
          name,
          key.name,
          key.unique ? 0 : 1,
          column,
          'A',
          prefix,
          key.kind,
          index + 1
        ]);
    }
    return { affectedRows: 0 };
  }

  #insert(table: string, values: readonly (string | number | null)[]): void {
    const places = values.map(() => '?').join(', ');
    this.#sqlite.prepare(`INSERT INTO information_schema_${table} VALUES (${places})`).run(...values);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { connection, begin } of waiting)
      this.weather.later(() => {
        if (this.#connections.has(connection)) begin();
      });
  }
}

const plainColumn = ({
  name,
  type,
  isKey
}: {
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
}) => ({
  name,
  type: type.toLowerCase(),
  nullable: false,
  default: null,
  charset: null,
  collation: null,
  autoIncrement: isKey
});

function driverError(caught: Error & { errcode?: number }, sql: string): Error & { readonly errno: number } {
  if (caught.errcode !== undefined && UNIQUE_VIOLATIONS.has(caught.errcode))
    return Object.assign(new Error(caught.message), {
      code: 'ER_DUP_ENTRY',
      errno: DUPLICATE_KEY,
      sqlState: '23000',
      sqlMessage: caught.message
    });
  if (caught.errcode === UNKNOWN_FUNCTION)
    return Object.assign(new Error(caught.message), {
      code: 'ER_SP_DOES_NOT_EXIST',
      errno: UNKNOWN_FUNCTION,
      sqlState: '42000'
    });
  const message = `the in-memory database cannot run this: ${caught.message}: ${sql.slice(0, 500)}`;
  return Object.assign(new Error(message), {
    code: 'ER_PARSE_ERROR',
    errno: UNKNOWN_STATEMENT,
    sqlState: '42000',
    sqlMessage: message
  });
}

type Statement = string | { readonly sql: string; readonly values?: readonly unknown[] | null };

/** What the driver gives for a connection, as far as it is used. */
export class MemoryConnection extends EventEmitter {
  readonly id: number;
  /** What is being run for it, tag included. */
  statement: string | null = null;
  readonly #server: MemoryServer;
  #answer: Answer | null = null;
  #queue: { readonly text: string; readonly answer: Answer }[] = [];
  #fault: Error | null = null;
  /** The parts of the driver that `connect` reaches into. */
  readonly connection = {
    query: (first: Statement, values: readonly unknown[] | undefined, answer: Answer): EventEmitter => {
      const command = new EventEmitter();
      this.#send(first, values, (fault, result) => {
        answer(fault, result);
        command.emit('end');
      });
      return command;
    },
    stream: { destroy: (fault: Error) => this.#hangUp(fault) }
  };

  constructor(server: MemoryServer, id: number) {
    super();
    this.#server = server;
    this.id = id;
  }

  query(first: Statement, values?: readonly unknown[]): Promise<[unknown, unknown]> {
    const { promise, resolve, reject } = Promise.withResolvers<[unknown, unknown]>();
    this.connection.query(first, values, (fault, result) =>
      fault ? reject(fault) : resolve([result, Array.isArray(result) ? result.map(() => undefined) : undefined])
    );
    return promise;
  }

  format(sql: string, values: readonly unknown[]): string {
    return format(sql, values as SqlValue[]);
  }

  destroy(): void {
    this.#hangUp(lost('the connection was ended here'));
  }

  /** From the server's side: whoever waits for an answer learns it. */
  breakOff(fault: Error): void {
    this.#fault ??= fault;
    const answers = [this.#answer, ...this.#queue.map(({ answer }) => answer)];
    this.#answer = null;
    this.#queue = [];
    for (const answer of answers) answer?.(this.#fault);
  }

  /** A statement that runs goes on, and may be committed; its connection ends with it. */
  #hangUp(fault: Error): void {
    if (this.#fault) return;
    this.breakOff(fault);
    this.abandon();
  }

  /** Whoever is at the other end does not listen any more, and does not hang up. */
  mute(): void {
    if (this.#answer) this.#answer = () => undefined;
    this.#queue = [];
  }

  /** Nobody is at the other end any more. */
  abandon(): void {
    this.#fault ??= lost('nobody is here');
    this.#answer = null;
    this.#queue = [];
    if (this.statement === null) this.#server.weather.later(() => this.#server.end(this));
  }

  #send(first: Statement, given: readonly unknown[] | null | undefined, answer: Answer): void {
    const { sql, values = given } = typeof first === 'string' ? { sql: first } : first;
    const fault = this.#fault;
    if (fault) {
      queueMicrotask(() => answer(lost(fault.message)));
      return;
    }
    this.#queue.push({ text: values == null ? sql : this.format(sql, values), answer });
    if (this.#answer === null) this.#next();
  }

  /** One statement after the other, as on the wire. */
  #next(): void {
    const next = this.#queue.shift();
    if (!next) return;
    const { text, answer } = next;
    this.#answer = answer;
    this.#runAll(statementsOf(text), 0, [], (fault, result) => {
      this.statement = null;
      const told = this.#answer;
      this.#answer = null;
      told?.(fault, result);
      if (this.#answer === null) this.#next();
    });
  }

  /** The statements of one message, until one fails; whoever sent it may be gone meanwhile. */
  #runAll(texts: readonly string[], index: number, results: readonly unknown[], answer: Answer): void {
    const text = texts[index]!;
    this.statement = text;
    this.#server.weather.later(() => {
      if (!this.#server.isKnown(this)) return;
      const fate = this.#fault ? 'answered' : this.#server.weather.fate(text);
      if (fate === 'lost') {
        this.#end(lost('the connection was lost'));
        return;
      }
      this.#server.run(this, text, (fault, result) => {
        const all = [...results, result];
        if (fate === 'unanswered') this.#end(lost('the answer was lost'));
        else if (fault === null && all.length < texts.length) this.#runAll(texts, index + 1, all, answer);
        else if (this.#fault) this.#end(this.#fault);
        else answer(fault, texts.length === 1 ? result : all);
      });
    });
  }

  #end(fault: Error): void {
    this.statement = null;
    this.#server.end(this);
    this.breakOff(fault);
  }
}
