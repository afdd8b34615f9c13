import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { PlatformError } from '../errors.ts';

/** Coordinates of one database. */
export interface Coordinates {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly pass: string;
  readonly name: string;
  readonly socketPath?: string;
}

const SESSION = [
  'SET NAMES utf8mb4 COLLATE utf8mb4_general_ci',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', max_error_count = 64, max_statement_time = 0, sql_select_limit = 18446744073709551615",
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
  'START TRANSACTION WITH CONSISTENT SNAPSHOT'
];

/**
 * Parses `mysql://user:pass@host:port/database` or
 * `mysql://user:pass@localhost/database?socket=/run/mysqld/mysqld.sock`.
 *
 * @throws {PlatformError} COMMAND_INVALID; the message never holds the password
 */
export function parseDatabaseUrl(text: string): Coordinates {
  let url: URL;
  try {
    url = new URL(text);
    if (!/^(mysql|mariadb):$/.test(url.protocol)) throw new Error('the scheme must be mysql');
    const name = decodeURIComponent(url.pathname.slice(1));
    if (name === '' || name.includes('/')) throw new Error('it must name one database');
    const socketPath = url.searchParams.get('socket');
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost',
      port: Number(url.port || 3306),
      user: decodeURIComponent(url.username),
      pass: decodeURIComponent(url.password),
      name,
      ...(socketPath ? { socketPath } : {})
    };
  } catch (caught) {
    const reason = `not a database URL: ${(caught as Error).message}; example: mysql://user:pass@127.0.0.1:3306/database`;
    throw new PlatformError('COMMAND_INVALID', { reason });
  }
}

/**
 * One of the two databases, seen in one consistent snapshot while it is open.
 *
 * It uses a single connection: MariaDB cannot share a snapshot between connections, and two snapshots could differ.
 * Tables of engines without transactions are seen as they are when queried.
 */
export class Side {
  readonly role: 'source' | 'replica';
  readonly #connection: Connection;

  private constructor(role: 'source' | 'replica', connection: Connection) {
    this.role = role;
    this.#connection = connection;
  }

  /** Opens a side. @throws {PlatformError} DATABASE_UNAVAILABLE or DATABASE_REFUSED with the side's name */
  static async open(role: 'source' | 'replica', to: Coordinates): Promise<Side> {
    let connection: Connection | undefined;
    try {
      connection = await createConnection({
        ...(to.socketPath ? { socketPath: to.socketPath } : { host: to.host, port: to.port }),
        user: to.user,
        password: to.pass,
        database: to.name,
        connectTimeout: 5_000
      });
      connection.on('error', () => undefined); // the pending statement gets the error
      for (const statement of SESSION) await connection.query(statement);
      return new Side(role, connection);
    } catch (caught) {
      connection?.destroy();
      throw unavailable(caught, role, { database: to.name, host: to.socketPath ?? `${to.host}:${to.port}` });
    }
  }

  /**
   * Returns rows as arrays in the order of the select list.
   *
   * A warning counts as a failure: it may mean that a value was cut, and then nothing may be called equal.
   *
   * @throws {PlatformError} DATABASE_UNAVAILABLE
   */
  async select<T extends readonly unknown[]>(sql: string): Promise<T[]> {
    try {
      const [rows] = await this.#connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true });
      const [warnings] = await this.#connection.query<RowDataPacket[]>('SHOW WARNINGS');
      if (warnings.length > 0) throw new Error(`warning: ${String(warnings[0]!['Message'])}`);
      return rows as unknown as T[];
    } catch (caught) {
      throw unavailable(caught, this.role, {});
    }
  }

  close(): void {
    this.#connection.destroy();
  }
}

function unavailable(caught: unknown, role: string, detail: Record<string, unknown>): PlatformError {
  const { sqlMessage, message, code } = caught as { sqlMessage?: string; message?: string; code?: string };
  const reason = `${role}: ${sqlMessage || message || code}`;
  const refused = code !== undefined && /^ER_(ACCESS_DENIED|DBACCESS_DENIED|TABLEACCESS_DENIED|BAD_DB)/.test(code);
  return new PlatformError(
    refused ? 'DATABASE_REFUSED' : 'DATABASE_UNAVAILABLE',
    { reason, ...detail },
    { cause: caught }
  );
}

/** Quotes an identifier with backticks. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
