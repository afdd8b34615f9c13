import { setTimeout as sleep } from 'node:timers/promises';
import { createActor } from 'xstate';
import { type BreakerInput, circuitBreakerMachine } from '../../machines/runtime/circuit-breaker.ts';
import { type Connection, connect, databaseError, openPool, quoteName, rows } from '../db/core/connection.ts';
import { hasCode, PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { DatabaseCoordinates } from '../wire/database.ts';
import type { Circuit } from '../wire/report.ts';
import { buildTree, type ConfigEntry, type ConfigTree } from './config-tree.ts';

/** Result of `getallconfigs`. */
export interface ConfigEnvelope {
  readonly configs: ConfigTree;
  /** Last committed consensus sequence; a standalone hub has no consensus and says 0. */
  readonly seq: number;
  /** Epoch seconds of the newest change, 0 when there is none. */
  readonly watermark: number;
}

/** The hub's database. Until `prepare` is done, every call is refused. */
export interface HubStore {
  /**
   * Makes the database and its table when they are missing; waits for a MariaDB that is not there yet.
   *
   * @param signal ends the waiting
   * @throws {PlatformError} DATABASE_REFUSED: waiting does not help
   */
  prepare(signal: AbortSignal): Promise<void>;
  /** Whether `prepare` is done. */
  isReady(): boolean;
  /** False when the database does not answer within 2 seconds, or the circuit is open. */
  probe(): Promise<boolean>;
  circuit(): Circuit;
  /** @param since epoch seconds, inclusive @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED */
  readConfigs(since?: number): Promise<ConfigEnvelope>;
  /** All entries or none are durable when it returns. @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED */
  writeConfigs(entries: readonly ConfigEntry[]): Promise<void>;
  close(): Promise<void>;
}

const POOL_SIZE = 10;
const CALL_LIMIT_MS = 30_000;
const PROBE_LIMIT_MS = 2_000;
const WRITE_LOCK_WAIT_S = 10;
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 30_000;
const BREAKER: BreakerInput = { failureThreshold: 10, cooldownMs: 30_000, trialTimeoutMs: CALL_LIMIT_MS + 1_000 };

const CREATE_CONFIGS = `CREATE TABLE configs (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  coin VARCHAR(16) NOT NULL,
  network VARCHAR(16) NOT NULL,
  module VARCHAR(64) NOT NULL,
  param_name VARCHAR(32) NOT NULL,
  param_value TEXT NOT NULL,
  updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  UNIQUE KEY configs_name (coin, network, module, param_name),
  KEY configs_updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;

/** Opens no connection yet. @see the section "Hub configuration store" of the specification */
export function createHubStore(database: DatabaseCoordinates, log: Logger, breakerInput = BREAKER): HubStore {
  const pool = openPool(database, POOL_SIZE);
  pool.pool.on('connection', (raw) => {
    raw.query(`SET SESSION max_statement_time = ${CALL_LIMIT_MS / 1000}`, () => undefined); // MySQL has none: `run` has a limit too
  });
  const breaker = createActor(circuitBreakerMachine, { input: breakerInput });
  let isReady = false;

  /** Runs work on a pooled connection behind the breaker. Work that fails or is late takes its connection with it. */
  const run = async <T>(limitMs: number, work: (connection: Connection) => Promise<T>): Promise<T> => {
    if (!isReady) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database has not answered yet' });
    if (breaker.getSnapshot().hasTag('refuse')) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'circuit breaker open for the hub database' });
    }
    breaker.send({ type: 'call.started' });
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const late = () => reject(new PlatformError('DATABASE_UNAVAILABLE', { reason: `no answer within ${limitMs} ms` }));
    const timer = setTimeout(late, limitMs);
    const acquiring = pool.getConnection();
    try {
      const connection = await Promise.race([acquiring, deadline]);
      const value = await Promise.race([work(connection), deadline]);
      connection.release();
      breaker.send({ type: 'call.succeeded' });
      return value;
    } catch (caught) {
      breaker.send({ type: 'call.failed' });
      acquiring.then((connection) => connection.destroy()).catch(() => undefined); // its failure is `caught`
      throw databaseError(caught, { database: database.name });
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    async prepare(signal) {
      for (let waitMs = RETRY_FIRST_MS; !isReady; waitMs = Math.min(waitMs * 2, RETRY_MOST_MS)) {
        try {
          await createMissing(database);
          breaker.start();
          isReady = true;
        } catch (caught) {
          if (signal.aborted || !hasCode(caught, 'DATABASE_UNAVAILABLE')) throw caught;
          log.warn({ err: caught, retryInMs: waitMs }, `waiting for MariaDB: ${caught.message}`);
          await sleep(waitMs, undefined, { signal });
        }
      }
    },

    isReady: () => isReady,

    async probe() {
      try {
        await run(PROBE_LIMIT_MS, (connection) => rows(connection, 'SELECT 1'));
        return true;
      } catch (caught) {
        log.warn({ err: caught }, 'the database does not answer');
        return false;
      }
    },

    circuit() {
      const state = breaker.getSnapshot().value;
      return state === 'open' ? 'open' : state === 'closed' ? 'closed' : 'half-open';
    },

    readConfigs: (since = 0) => run(CALL_LIMIT_MS, (connection) => selectConfigs(connection, since)),

    writeConfigs: (entries) =>
      run(CALL_LIMIT_MS, (connection) =>
        upsertConfigs(connection, entries, `platform-hub ${database.name}`.slice(0, 64))
      ),

    async close() {
      breaker.stop();
      await pool.end();
    }
  };
}

/** Looks before it creates: an account that may only use what is there needs no CREATE. */
async function createMissing(database: DatabaseCoordinates): Promise<void> {
  const { name, ...server } = database;
  const connection = await connect(server);
  try {
    const schemas = 'SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?';
    if ((await rows(connection, schemas, [name])).length === 0) {
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)}`);
    }
    await connection.query(`USE ${quoteName(name)}`);
    const tables = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'configs'";
    if ((await rows(connection, tables, [name])).length === 0) {
      await connection.query(CREATE_CONFIGS.replace('TABLE', 'TABLE IF NOT EXISTS'));
    }
  } catch (caught) {
    throw databaseError(caught, { database: name });
  } finally {
    connection.destroy();
  }
}

/** The watermark is read before the rows: what is committed in between is sent again, never lost. */
async function selectConfigs(connection: Connection, since: number): Promise<ConfigEnvelope> {
  const [newest] = await rows(
    connection,
    'SELECT COALESCE(UNIX_TIMESTAMP(MAX(updated_at)), 0) AS watermark FROM configs'
  );
  const changed = await rows<ConfigEntry & Record<string, unknown>>(
    connection,
    `SELECT coin, network, module, param_name AS param, param_value AS value
       FROM configs WHERE UNIX_TIMESTAMP(updated_at) >= ? ORDER BY coin, network, module, param_name`,
    [since]
  );
  return { configs: buildTree(changed), seq: 0, watermark: Number(newest?.['watermark'] ?? 0) };
}

/**
 * One statement, so all or nothing. Writers take turns and no change is stamped older than one before it (the clock may
 * step back): a reader that has seen a watermark never misses a change that was committed later.
 */
async function upsertConfigs(connection: Connection, entries: readonly ConfigEntry[], lock: string): Promise<void> {
  if (entries.length === 0) return;
  const [turn] = await rows(connection, 'SELECT GET_LOCK(?, ?) AS got', [lock, WRITE_LOCK_WAIT_S]);
  if (turn?.['got'] !== 1)
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'another writer does not finish' });
  const [now] = await rows(
    connection,
    'SELECT GREATEST(NOW(), COALESCE(MAX(updated_at), NOW())) AS stamp FROM configs'
  );
  await connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at) VALUES ?
     ON DUPLICATE KEY UPDATE
       updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
       param_value = VALUES(param_value)`,
    [entries.map(({ coin, network, module, param, value }) => [coin, network, module, param, value, now?.['stamp']])]
  );
  await rows(connection, 'SELECT RELEASE_LOCK(?)', [lock]);
}
