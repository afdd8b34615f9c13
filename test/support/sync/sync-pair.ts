import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { service } from '../../../src/hub/service.ts';
import { startHub } from '../../../src/hub/start.ts';
import { silentLogger } from '../../../src/log.ts';
import { compareDatabases, type Verdict } from '../../../src/verify/compare.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import { atEnd } from '../cleanup.ts';
import { hubConfigOf } from '../hub-config.ts';
import { createDatabase, dropAfterwards } from '../mariadb.ts';
import { PATIENCE_MS } from '../patience.ts';
import { eventually, replicasAt, type SyncProcess, startSyncProcess, temporaryDirectory } from './sync-process.ts';

export const REPLICA_PREFIX = 'replica_';
const EQUAL_DEADLINE_MS = 30_000;
export const PAIR_KEY = 'key-of-the-pair';

/** One source database with a hub that names it, a sync server, and as many clients as a test starts. */
export interface SyncPair {
  readonly source: DatabaseCoordinates;
  readonly replica: DatabaseCoordinates;
  readonly server: SyncProcess;
  /** Starts the server that was ended once more: same port, same state directory. */
  restartServer(): Promise<void>;
  startClient(env?: Readonly<Record<string, string | number>>, options?: readonly string[]): Promise<SyncProcess>;
  /** Waits until the client says that it is live at the source's tip, then compares row by row. */
  settle(client: SyncProcess, height: number, deadlineMs?: number): Promise<Verdict>;
  /** `GET /status/...` of one side. */
  status(of: SyncProcess): Promise<Record<string, unknown>>;
  compare(): Promise<Verdict>;
}

/** A standalone hub in this process. */
export interface TestHub {
  readonly port: number;
  /** Names databases, as an operator does with `updateconfig`. */
  name(databases: readonly (readonly [DbType, DatabaseCoordinates])[]): Promise<void>;
  stop(): Promise<void>;
}

/** @param database default: one of its own */
export async function openTestHub(database?: DatabaseCoordinates): Promise<TestHub> {
  const config = hubConfigOf(database ?? (await createDatabase('hub')));
  const hub = await startHub({ service, config, log: silentLogger });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= hub.stop());
  atEnd(stop);
  return {
    port: hub.port,
    stop,
    async name(databases) {
      const modules = databases.map(([dbType, { host, port, name, user, pass }]) => [
        `platform-${dbType}`,
        { db_host: host, db_port: String(port), name, user, pass }
      ]);
      const config = { litecoin: { regtest: Object.fromEntries(modules) } };
      const response = await fetch(`http://127.0.0.1:${hub.port}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'updateconfig', params: { config } })
      });
      if (!response.ok) throw new Error(`updateconfig: ${response.status} ${await response.text()}`);
    }
  };
}

/** A hub that names these databases. @returns its port */
export async function startTestHub(databases: readonly (readonly [DbType, DatabaseCoordinates])[]): Promise<number> {
  const hub = await openTestHub();
  await hub.name(databases);
  return hub.port;
}

/** Starts hub and server for a source database that is there already. @param settings more of the server's environment */
export async function startPair(
  dbType: DbType,
  source: DatabaseCoordinates,
  env: Readonly<Record<string, string | number>> = {}
): Promise<SyncPair> {
  const hubPort = await startTestHub([[dbType, source]]);
  const common = { HUB_API_HOST: '127.0.0.1', HUB_PORT: hubPort, SYNC_API_KEY: PAIR_KEY, LOG_LEVEL: 'debug' };
  const serverEnv = {
    ...common,
    SYNC_MODE: 'server',
    SYNC_API_PORT: await freePort(),
    SYNC_STATE_DIR: temporaryDirectory('server-state'),
    BLOCK_POLL_INTERVAL: 50,
    SNAPSHOT_RATE_FULL: 1000,
    SNAPSHOT_RATE_INCR: 100_000,
    ...env
  };
  const path = `/status/${dbType}/litecoin/regtest`;
  const startServer = async () => {
    const server = await startSyncProcess(serverEnv);
    await eventually('the server serves the database', async () => (await server.get(path)).status === 200);
    return server;
  };
  let server = await startServer();
  const replica = { ...source, name: `${REPLICA_PREFIX}${source.name}` };
  dropAfterwards(replica, replica.name);
  const compare = () => compareDatabases(source, replica, { order: false });
  return {
    source,
    replica,
    get server() {
      return server;
    },
    restartServer: async () => {
      server = await startServer();
    },
    compare,
    startClient: (env = {}, options = []) =>
      startSyncProcess(
        {
          ...common,
          SYNC_MODE: 'client',
          SYNC_SOURCES: server.url,
          ...replicasAt(source),
          REPLICA_DB_PREFIX: REPLICA_PREFIX,
          CLIENT_RECONNECT_DELAY: 200,
          ...env
        },
        options
      ),
    status: async (of) => (await of.get(path)).body,
    async settle(client, height, deadlineMs = PATIENCE_MS) {
      let last: unknown;
      await eventually(`the client is live at block ${height}`, deadlineMs, async () => {
        if (client.child.exitCode !== null) throw new Error(`the client ended:\n${client.log().slice(-4000)}`);
        const { body } = await client.get(path);
        last = body;
        return body['block_height'] === height && body['phase'] === 'live';
      }).catch((fault: Error) => {
        throw new Error(
          `${fault.message}; it said ${JSON.stringify(last)}\nclient: ${client.log().slice(-3000)}\nserver: ${server.log().slice(-2000)}`
        );
      });
      // At equal height the tip may still be the orphaned one, and the source's own log follows its blocks by a poll.
      let verdict = await compare();
      const deadline = Date.now() + EQUAL_DEADLINE_MS;
      while (!verdict.equal && Date.now() < deadline) {
        await sleep(500);
        verdict = await compare();
      }
      return verdict;
    }
  };
}

/** Returns the differences, for an assertion's message. */
export function differences(verdict: Verdict): unknown {
  return verdict.tables
    .filter(({ equal }) => !equal)
    .map(({ table, rows, schema, differences: found }) => ({ table, rows, schema, found: found.slice(0, 3) }));
}

/** A pause that is part of a scenario, not a wait for something. */
export const pause = (ms: number): Promise<void> => sleep(ms);
