import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, rows } from '../../src/db/connection.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { type PrivateMariaDb, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { compareDatabases, type Verdict } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd, endAll } from '../../test/support/cleanup.ts';
import { type Link, openLink } from '../../test/support/link.ts';
import { makeServerDirectory } from '../../test/support/mariadb.ts';
import { databaseEnv } from '../../test/support/service-process.ts';
import { createIndexer } from '../../test/support/sync/generated-indexer.ts';
import { eventually, temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import type { SubscribersAsk } from '../bench/support/processes/subscribers.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { HostileSource } from './hostile-source.ts';
import { INDEXED, WrittenDecoder } from './indexed.ts';
import { MARK, Service } from './service.ts';
import { Subscriber } from './subscriber.ts';

export const DATABASE = 'indexer/litecoin/regtest';
const KEY = 'key-of-chaos';
const SERVERS = 2;
const CLIENTS = 3;
/** Blocks, as the services are configured by default. */
export const EPOCH = 100;
const FIRST = { seed: 'chaos', blocks: 40, rows: 4_000 };
const START_DEADLINE_MS = 60_000;

/** Fields of one database's status that count here. */
interface Status {
  readonly block_height?: number | null;
  readonly phase?: string;
  readonly verified_height?: number | null;
}

export interface Replica {
  readonly service: Service;
  readonly database: DatabaseCoordinates;
}

/** An indexer with the databases that it reads and writes. */
export interface Indexed {
  readonly service: Service;
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
  readonly writing: WrittenDecoder;
}

/** MariaDB, hub, an indexer, two servers, three clients, the wires between them, and who listens. */
export class System {
  readonly mark = randomBytes(6).toString('hex');
  readonly directory = temporaryDirectory('chaos');
  /** Holds the first server's artifacts; null where nothing may be mounted. */
  readonly smallDisk = mountSmallDisk(this.directory);
  readonly servers: Service[] = [];
  readonly clients: Replica[] = [];
  /** One for each client and server. */
  readonly links: Link[] = [];
  /** The third source of two clients, with the wires to their others: where those are blocked, it is followed. */
  readonly hostile: { readonly source: HostileSource; readonly others: readonly Link[] }[] = [];
  readonly subscribers: Subscriber[] = [];
  /** Promises that were broken while it ran, in sentences. */
  readonly violations: string[] = [];
  readonly source: DatabaseCoordinates;
  mariadb: PrivateMariaDb;
  hub!: Service;
  /** An indexer and what it reads; null where nothing is to befall it. */
  indexed: Indexed | null = null;
  readonly #mariadbDirectory: string;
  #crowd: ChildProcess | null = null;

  private constructor(mariadb: PrivateMariaDb, mariadbDirectory: string) {
    this.mariadb = mariadb;
    this.#mariadbDirectory = mariadbDirectory;
    this.source = { ...mariadb.root, name: 'chaos_source' };
  }

  /** @param of  the seed of what the indexer is given to do, and whether there is one */
  static async open(of: { readonly seed: string; readonly hasIndexer: boolean }): Promise<System> {
    const mariadbDirectory = makeServerDirectory();
    const system = new System(await startMariaDb(mariadbDirectory), mariadbDirectory);
    atEnd(() => system.mariadb.stop('SIGKILL'));
    await system.#prepare();
    if (of.hasIndexer) system.indexed = await system.#startIndexer(of.seed);
    return system;
  }

  async #prepare(): Promise<void> {
    const { root } = this.mariadb;
    const connection = await connect(root);
    await connection.query(`CREATE DATABASE ${this.source.name}`);
    await connection.end();
    await createIndexer(this.source, FIRST);
    const hubPort = await freePort();
    const account = { HOST: root.host, PORT: String(root.port), USER: root.user, PASS: root.pass };
    const hubDatabase = Object.fromEntries(Object.entries(account).map(([name, value]) => [`HUB_DB_${name}`, value]));
    const hubEnv = { ...hubDatabase, HUB_DB_NAME: 'chaos_hub', HUB_HOST: '127.0.0.1', HUB_PORT: String(hubPort) };
    this.hub = this.#service('hub', 'hub', hubPort, {
      ...hubEnv,
      HUB_RATE_LIMIT_RPM: '100000',
      STATE_DIR: join(this.directory, 'state-hub')
    });
    await eventually('the hub answers', START_DEADLINE_MS, () => this.#nameDatabase(hubPort));
    const common = {
      HUB_API_HOST: '127.0.0.1',
      HUB_PORT: String(hubPort),
      SYNC_API_HOST: '127.0.0.1',
      SYNC_API_KEY: KEY,
      CIRCUIT_COOLDOWN_MS: '1000',
      ACTOR_MEMORY_MB: '256'
    };
    for (let number = 1; number <= SERVERS; number += 1) {
      const port = await freePort();
      const service = this.#service(`server${number}`, 'sync', port, {
        ...common,
        SYNC_MODE: 'server',
        SYNC_API_PORT: String(port),
        SYNC_STATE_DIR: join(this.directory, `state-server${number}`),
        BLOCK_POLL_INTERVAL: '100',
        SNAPSHOT_RATE_FULL: '1000',
        SNAPSHOT_RATE_INCR: '100000',
        WS_MAX_PER_IP: '2000',
        ...(number === 1 && this.smallDisk ? { SNAPSHOT_CACHE_DIR: join(this.smallDisk, 'artifacts') } : {})
      });
      this.servers.push(service);
      const serves = async () => typeof (await this.#status(service)).block_height === 'number';
      await eventually(`${service.name} serves`, START_DEADLINE_MS, serves).catch((fault: Error) => {
        throw new Error(`${fault.message}\n${service.log().slice(-3_000)}`);
      });
    }
    for (let number = 1; number <= CLIENTS; number += 1) {
      const port = await freePort();
      const links = await Promise.all(this.servers.map(({ url }) => openLink(url)));
      this.links.push(...links);
      // The second and third prefer the other server.
      const ways = (number === 1 ? links : links.toReversed()).map(({ url }) => url);
      if (number > 1) {
        const source = await HostileSource.open(this.servers[number % SERVERS]!.url);
        this.hostile.push({ source, others: links });
        ways.push(source.url);
      }
      const prefix = `replica${number}_`;
      const service = this.#service(`client${number}`, 'sync', port, {
        ...common,
        SYNC_MODE: 'client',
        SYNC_API_PORT: String(port),
        SYNC_STATE_DIR: join(this.directory, `state-client${number}`),
        SYNC_SOURCES: ways.join(','),
        VERIFY_HASHES: String(number > 1),
        ...Object.fromEntries(Object.entries(account).map(([name, value]) => [`REPLICA_DB_${name}`, value])),
        REPLICA_DB_PREFIX: prefix,
        CLIENT_RECONNECT_DELAY: '200'
      });
      this.clients.push({ service, database: { ...this.source, name: `${prefix}${this.source.name}` } });
    }
    for (const { url } of this.servers) {
      const subscriber = new Subscriber(`${url.replace('http', 'ws')}/subscribe/${DATABASE}`, KEY);
      this.subscribers.push(subscriber);
      atEnd(async () => subscriber.end());
    }
  }

  async #startIndexer(seed: string): Promise<Indexed> {
    const { root } = this.mariadb;
    const [decoder, indexer] = [
      { ...root, name: 'chaos_decoder' },
      { ...root, name: 'chaos_indexer' }
    ];
    const writing = new WrittenDecoder(decoder, seed);
    await writing.open();
    const port = await freePort();
    const service = this.#service('indexer', 'indexer', port, {
      INDEXER_COIN: INDEXED.ticker,
      INDEXER_NETWORK: INDEXED.network,
      ...databaseEnv('DECODER', decoder),
      ...databaseEnv('INDEXER', indexer),
      INDEXER_API_HOST: '127.0.0.1',
      INDEXER_API_PORT: String(port),
      INDEXER_API_KEY: KEY,
      INDEXER_POLL_INTERVAL: '100',
      INDEXER_BLOCK_TIMEOUT: '20000',
      INDEXER_RATE_LIMIT_RPM: '100000',
      HUB_API_HOST: '127.0.0.1',
      HUB_PORT: new URL(this.hub.url).port
    });
    const indexed = { service, decoder, indexer, writing };
    await eventually('the indexer indexes', START_DEADLINE_MS * 3, () => isIndexed(service)).catch((fault: Error) => {
      throw new Error(`${fault.message}\n${service.log().slice(-3_000)}`);
    });
    return indexed;
  }

  #service(name: string, command: string, port: number, env: Record<string, string>): Service {
    const directory = join(this.directory, name);
    mkdirSync(directory);
    const url = `http://127.0.0.1:${port}`;
    const service = new Service({ name, command, url, key: KEY, directory, env: { ...env, [MARK]: this.mark } });
    service.start();
    atEnd(() => service.stop());
    return service;
  }

  /** @returns false as long as the hub has no database itself */
  async #nameDatabase(hubPort: number): Promise<boolean> {
    const { host, port, name, user, pass } = this.source;
    const module = { 'platform-indexer': { db_host: host, db_port: String(port), name, user, pass } };
    const params = { config: { litecoin: { regtest: module } } };
    return fetch(`http://127.0.0.1:${hubPort}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'updateconfig', params })
    }).then(
      async (response) => 'result' in ((await response.json()) as object),
      () => false
    );
  }

  get services(): readonly Service[] {
    const indexer = this.indexed ? [this.indexed.service] : [];
    return [this.hub, ...indexer, ...this.servers, ...this.clients.map(({ service }) => service)];
  }

  async #status(service: Service): Promise<Status> {
    return ((await service.get(`/status/${DATABASE}`)) as Status | null) ?? {};
  }

  async sourceHeight(): Promise<number> {
    const connection = await connect(this.source);
    const [row] = await rows<{ height: number }>(connection, 'SELECT MAX(block_index) AS height FROM blocks');
    await connection.end();
    return Number(row!.height);
  }

  /** Waits until all clients are live there, and verified if an epoch ends there. @returns who is not, in sentences */
  async settle(height: number, deadlineMs: number): Promise<string[]> {
    const late = this.clients.map(async (replica) => {
      const isThere = async () => {
        const { phase, block_height, verified_height } = await this.#status(replica.service);
        return phase === 'live' && block_height === height && (height % EPOCH > 0 || verified_height === height);
      };
      return eventually('live', deadlineMs, isThere).then(
        () => [],
        async () => [
          `${replica.service.name} is not live at ${height}: ${JSON.stringify(await this.#status(replica.service))}`
        ]
      );
    });
    return (await Promise.all(late)).flat();
  }

  /** @returns a directory of the logs of all services, which stays */
  keepLogs(): string {
    const kept = mkdtempSync(join(tmpdir(), 'platform-chaos-logs-'));
    for (const service of this.services) writeFileSync(join(kept, `${service.name}.log`), service.log());
    return kept;
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    await this.crowdOut();
    await endAll();
  }

  compare({ database }: Replica): Promise<Verdict> {
    return compareDatabases(this.source, database);
  }

  /** As an operator who begins anew. */
  async emptyReplica({ database }: Replica): Promise<void> {
    const connection = await connect(this.mariadb.root);
    await connection.query(`DROP DATABASE IF EXISTS ${database.name}`);
    await connection.end();
  }

  async killMariaDb(downMs: number): Promise<void> {
    const { port } = this.mariadb;
    await this.mariadb.stop('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, downMs));
    this.mariadb = await startMariaDb(this.#mariadbDirectory, [], port);
  }

  /** Subscribers that read nothing, until they are told to leave. */
  async crowdIn(count: number, url: string): Promise<void> {
    await this.crowdOut();
    this.#crowd = fork(new URL('../bench/support/processes/subscribers.ts', import.meta.url), { silent: true });
    const crowd = this.#crowd;
    const ask: SubscribersAsk = {
      type: 'stall',
      url: `${url.replace('http', 'ws')}/subscribe/${DATABASE}`,
      key: KEY,
      count
    };
    crowd.send(ask);
    await new Promise((resolve) => crowd.once('message', resolve).once('exit', resolve));
  }

  async crowdOut(): Promise<void> {
    const crowd = this.#crowd;
    this.#crowd = null;
    if (!crowd || crowd.exitCode !== null || crowd.signalCode !== null) return;
    crowd.kill('SIGKILL');
    await new Promise((resolve) => crowd.once('exit', resolve));
  }
}

/** Whether an indexer has all blocks of its decoder, but for those of the last moment. */
export async function isIndexed(service: Service, lag = 0): Promise<boolean> {
  const { result } = ((await service.rpc('health')) ?? {}) as { readonly result?: Readonly<Record<string, unknown>> };
  return result?.['running'] === true && result['lag'] !== null && Number(result['lag']) <= lag;
}
