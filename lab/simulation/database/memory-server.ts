import { sha256 } from './checksums.ts';
import { withoutTag } from './dialect.ts';
import { type Answer, lost, MemoryConnection } from './memory-connection.ts';
import { type MemoryResult, type MemoryRow, MemoryTables } from './memory-tables.ts';

/** Fate of a connection's statements. */
interface Weather {
  /** Does something some time later, also when the thread that asked for it is dead by then. */
  later(work: () => void): void;
  /** Does something some time later, unless that thread is dead by then. */
  whenAlive(work: () => void): void;
  connected(connection: MemoryConnection): void;
  /** A connection begins to read in a consistent snapshot. */
  looks(connection: MemoryConnection): void;
  /** A statement was met that this database does not know: it must learn it. */
  refused(why: string): void;
  /** `lost`: it is not executed, and the connection gone; `unanswered`: it is executed, and the connection gone. */
  fate(sql: string): 'answered' | 'lost' | 'unanswered';
  /** Text of a DATETIME(6). */
  now(): string;
  /** Sees each change of what is committed, with the connection that made it. */
  committed(by: MemoryConnection, sql: string): void;
}

const servers = new Map<string, MemoryServer>();
const CALM: Weather = {
  later: (work) => void setImmediate(work),
  whenAlive: (work) => void setImmediate(work),
  connected: () => undefined,
  looks: () => undefined,
  refused: () => undefined,
  fate: () => 'answered',
  now: () => new Date().toISOString().slice(0, 23).replace('T', ' '),
  committed: () => undefined
};
const MAX_PACKET = 16_777_216;
/** Settings of the server that are asked for. */
const VARIABLES: Readonly<Record<string, number>> = {
  innodb_flush_log_at_trx_commit: 1,
  max_allowed_packet: MAX_PACKET
};
const DUPLICATE_KEY = 1062;
const UNKNOWN_STATEMENT = 1064;
const UNIQUE_VIOLATIONS = new Set([1555, 2067]);
const NOTHING: MemoryResult = { affectedRows: 0 };

/** The server that a host's name stands for; undefined for a real one. */
export const serverAt = (host: string): MemoryServer | undefined => servers.get(host);

/**
 * The in-memory database of the simulation: one database of one server behind the driver's own interface. One transaction that
 * writes is open at a time, whoever else asks waits for its end; that is coarser than MariaDB, and never laxer. A consistent
 * snapshot is a copy of what is committed, and waits for nobody once it is there.
 */
export class MemoryServer {
  readonly database: string;
  readonly weather: Weather;
  readonly #tables: MemoryTables;
  readonly #connections = new Set<MemoryConnection>();
  readonly #locks = new Map<string, MemoryConnection>();
  readonly #snapshots = new Map<MemoryConnection, MemoryTables>();
  #copy: MemoryTables | undefined;
  #waiting: { readonly connection: MemoryConnection; readonly begin: () => void }[] = [];
  #owner: MemoryConnection | undefined;
  /** Unix time in seconds at which its transaction began. */
  #ownerSince = 0;
  #changed = false;
  #id = 0;
  isUp = true;

  constructor(host: string, database: string, weather: Weather = CALM) {
    this.database = database;
    this.weather = weather;
    this.#tables = MemoryTables.create(database, () => weather.now());
    servers.set(host, this);
  }

  /** Returns committed rows, for an observer; there must be no transaction under way. */
  read<T = MemoryRow>(sql: string): T[] {
    return this.#tables.read<T>(sql);
  }

  /** Changes what is committed, behind the back of all connections; there must be no transaction under way. */
  change(statements: readonly string[]): void {
    this.#tables.transact('BEGIN');
    for (const sql of statements) this.#tables.execute(sql);
    this.#tables.transact('COMMIT');
    this.#copy = undefined;
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
    this.#snapshots.delete(connection);
    for (const [name, holder] of this.#locks) if (holder === connection) this.#locks.delete(name);
    this.#waiting = this.#waiting.filter((each) => each.connection !== connection);
    if (this.#owner === connection) {
      this.#tables.transact('ROLLBACK');
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
    const isAlone = !this.#owner || this.#owner === connection || this.#snapshots.has(connection);
    if (lock) this.#takeLock(connection, lock[1]!, Number(lock[2]), answer);
    else if (own) answer(null, own);
    else if (!isAlone || (this.#owner && plain.includes('CONSISTENT SNAPSHOT'))) wait();
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
  #answerItself(sql: string): MemoryResult | null {
    if (sql.includes('information_schema.INNODB_TRX')) return [{ t: this.#owner ? this.#ownerSince : null }];
    if (/^(SET|USE|DO) /.test(sql)) return NOTHING;
    if (sql === "SHOW GLOBAL VARIABLES LIKE 'server_uid'") return [{ Variable_name: 'server_uid', Value: 'simulated' }];
    if (sql.endsWith("@@max_allowed_packet AS bytes, SHA2('abc', 256) AS hash"))
      return [{ kind: 2, version: '10.11.0-MariaDB', bytes: MAX_PACKET, hash: sha256('abc') }];
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
    // Who holds a lock is another account's, which this one may not see.
    if (/^SELECT USER AS user, HOST AS host, TIME AS seconds FROM information_schema.PROCESSLIST/.test(sql)) return [];
    const [, killed] = /^KILL CONNECTION (\d+)/.exec(sql) ?? [];
    if (killed === undefined) return null;
    for (const connection of [...this.#connections].filter(({ id }) => id === Number(killed))) {
      connection.breakOff(lost('killed'));
      this.end(connection);
    }
    return NOTHING;
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

  #execute(connection: MemoryConnection, sql: string): MemoryResult {
    const verb = /^\(?(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? '';
    if (verb === 'BEGIN' || verb === 'START') return this.#begin(connection, sql);
    if (verb === 'COMMIT' || verb === 'ROLLBACK') return this.#finish(connection, verb, sql);
    const snapshot = this.#snapshots.get(connection);
    if (snapshot && verb !== 'SELECT') throw new Error('a transaction that only reads cannot write');
    if (snapshot || verb === 'SELECT') return (snapshot ?? this.#tables).execute(sql);
    const result = this.#tables.execute(sql);
    this.#copy = undefined;
    if (this.#owner) this.#changed = true;
    else if (verb !== 'CREATE' && verb !== 'ALTER') this.weather.committed(connection, sql);
    return result;
  }

  /** Begins a transaction; an open one ends with it, as in MariaDB. */
  #begin(connection: MemoryConnection, sql: string): MemoryResult {
    this.#snapshots.delete(connection);
    if (sql.includes('CONSISTENT SNAPSHOT')) {
      this.#copy ??= this.#tables.copy();
      this.#snapshots.set(connection, this.#copy);
      this.weather.looks(connection);
    } else {
      this.#tables.transact('BEGIN');
      this.#owner = connection;
      this.#ownerSince = Math.floor(Date.now() / 1000);
    }
    return NOTHING;
  }

  #finish(connection: MemoryConnection, verb: 'COMMIT' | 'ROLLBACK', sql: string): MemoryResult {
    if (this.#snapshots.delete(connection) || this.#owner !== connection) return NOTHING;
    this.#tables.transact(verb);
    this.#owner = undefined;
    if (verb === 'COMMIT' && this.#changed) this.weather.committed(connection, sql);
    this.#changed = false;
    this.#wake();
    return NOTHING;
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

function driverError(caught: Error & { errcode?: number }, sql: string): Error & { readonly errno: number } {
  const { message } = caught;
  if (caught.errcode !== undefined && UNIQUE_VIOLATIONS.has(caught.errcode))
    return Object.assign(new Error(message), {
      code: 'ER_DUP_ENTRY',
      errno: DUPLICATE_KEY,
      sqlState: '23000',
      sqlMessage: message
    });
  const reason = `the in-memory database cannot run this: ${message}: ${sql.slice(0, 500)}`;
  return Object.assign(new Error(reason), {
    code: 'ER_PARSE_ERROR',
    errno: UNKNOWN_STATEMENT,
    sqlState: '42000',
    sqlMessage: reason
  });
}
