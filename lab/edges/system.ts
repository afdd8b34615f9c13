import { freePort } from '../../src/devnet/processes/free-port.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { type Link, openLink } from '../../test/support/link.ts';
import { createDatabase, dropAfterwards } from '../../test/support/mariadb.ts';
import { type StartedProcess, startServiceProcess } from '../../test/support/service-process.ts';
import { createDecoder } from '../../test/support/sync/generated-decoder.ts';
import { differences, startTestHub } from '../../test/support/sync/sync-pair.ts';
import { eventually, replicasAt, temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { NatsCluster } from './cluster.ts';

const KEY = 'key-of-the-edges-0123456789abcdef';
const DATABASE = 'decoder/litecoin/regtest';
export const STREAM = 'PLATFORM_DECODER_LITECOIN_REGTEST';
const [PUBLISHERS, EDGES, CLIENTS] = [3, 4, 2];
const START_MS = 120_000;

/** A process that can be killed and started again as it was. */
export class Part {
  readonly name: string;
  readonly url: string;
  /** Its ways to each nats-server; none of a client. */
  readonly links: readonly Link[];
  readonly #service: string;
  readonly #env: Readonly<Record<string, string>>;
  #process: StartedProcess | undefined;
  #output = '';

  constructor(name: string, service: string, port: number, links: readonly Link[], env: Record<string, string>) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.links = links;
    this.#service = service;
    this.#env = env;
  }

  get pid(): number {
    return this.#process!.child.pid!;
  }

  /** Everything that it printed, over all its starts. */
  get output(): string {
    return this.#output + (this.#process?.output() ?? '');
  }

  start(): void {
    this.#output = this.output;
    this.#process = startServiceProcess(this.#service, this.#env);
  }

  async kill(): Promise<void> {
    this.#process?.child.kill('SIGKILL');
    await this.#process?.exited;
  }

  /** Body of a GET; null where it does not answer 200. */
  async get(path: string): Promise<Record<string, unknown> | null> {
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await fetch(`${this.url}${path}`, { headers, signal: AbortSignal.timeout(5_000) }).catch(() => null);
    return answer?.status === 200 ? ((await answer.json()) as Record<string, unknown>) : null;
  }

  /** Height and phase of the database here. */
  async standing(): Promise<{ readonly height: unknown; readonly phase: unknown }> {
    const status = await this.get(`/status/${DATABASE}`);
    return { height: status?.['block_height'], phase: status?.['phase'] };
  }
}

/** A cluster of NATS, a server that publishes, two that stand by, four edges, and two clients behind these. */
export interface EdgeSystem {
  readonly source: DatabaseCoordinates;
  readonly nats: NatsCluster;
  /** Disk of the first nats-server, which can be filled; null where nothing may be mounted. */
  readonly disk: string | null;
  readonly publishers: readonly Part[];
  readonly edges: readonly Part[];
  readonly clients: readonly Part[];
  /** Subscriptions at all edges. */
  readonly streams: readonly string[];
  readonly key: string;
  /** Compares each replica with the source, row by row. @returns what differs */
  compare(): Promise<string[]>;
}

/** Starts all of it, and waits until both clients are live behind the edges. */
export async function startEdgeSystem(): Promise<EdgeSystem> {
  const disk = mountSmallDisk(temporaryDirectory('edges-disk'));
  const nats = await NatsCluster.start(disk);
  const source = await createDatabase('edges');
  await createDecoder(source, { seed: 'edges', blocks: 20, rows: 400 });
  const hub = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(await startTestHub([['decoder', source]])) };
  const publishers = await parts('server', 'sync', PUBLISHERS, nats, (port, streams) => ({
    ...hub,
    SYNC_MODE: 'server',
    SYNC_API_KEY: KEY,
    SYNC_API_PORT: port,
    SYNC_STATE_DIR: temporaryDirectory('edges-server'),
    SYNC_NATS_URL: streams,
    SYNC_NATS_CREDS: nats.keys.publisher,
    SYNC_NATS_REPLICAS: '3',
    SYNC_RELAY_MAX_BYTES: String(64 * 2 ** 20),
    BLOCK_POLL_INTERVAL: '50',
    SNAPSHOT_RATE_FULL: '100000',
    SNAPSHOT_RATE_INCR: '100000'
  }));
  for (const part of publishers) part.start();
  await allAnswer(publishers, `/status/${DATABASE}`);
  const edges = await parts('edge', 'edge', EDGES, nats, (port, streams) => ({
    EDGE_API_HOST: '127.0.0.1',
    EDGE_API_PORT: port,
    EDGE_API_KEY: KEY,
    SYNC_NATS_URL: streams,
    SYNC_NATS_CREDS: nats.keys.reader,
    SNAPSHOT_CACHE_DIR: temporaryDirectory('edges-cache'),
    SNAPSHOT_RATE_FULL: '100000',
    SNAPSHOT_RATE_INCR: '100000',
    SYNC_ORIGIN_URL: publishers[0]!.url,
    SYNC_ORIGIN_KEY: KEY
  }));
  for (const part of edges) part.start();
  await allAnswer(edges, '/readyz');
  const prefixes = Array.from({ length: CLIENTS }, (_, at) => `edges${at}_`);
  const clients = await parts('client', 'sync', CLIENTS, null, (port, _, at) => ({
    ...hub,
    ...replicasAt(source),
    SYNC_MODE: 'client',
    SYNC_API_KEY: KEY,
    SYNC_API_PORT: port,
    SYNC_STATE_DIR: temporaryDirectory('edges-client'),
    SYNC_SOURCES: [edges[2 * at]!.url, edges[2 * at + 1]!.url].join(),
    REPLICA_DB_PREFIX: prefixes[at]!,
    CLIENT_RECONNECT_DELAY: '500'
  }));
  const replicas = prefixes.map((prefix) => ({ ...source, name: `${prefix}${source.name}` }));
  for (const replica of replicas) dropAfterwards(replica, replica.name);
  for (const part of clients) part.start();
  await eventually('both clients are live', START_MS, async () => {
    const standings = await Promise.all(clients.map((part) => part.standing()));
    return standings.every(({ phase }) => phase === 'live');
  });
  return {
    source,
    nats,
    disk,
    publishers,
    edges,
    clients,
    key: KEY,
    streams: edges.map(({ url }) => `${url.replace('http', 'ws')}/subscribe/${DATABASE}`),
    async compare() {
      const verdicts = await Promise.all(
        replicas.map((replica) => compareDatabases(source, replica, { order: false }))
      );
      return verdicts.flatMap((verdict, at) =>
        verdict.equal ? [] : [`client ${at + 1}: ${JSON.stringify(differences(verdict))}`]
      );
    }
  };
}

/** @param env returns the variables of one, of its port, its ways to NATS and its place */
async function parts(
  name: string,
  service: string,
  count: number,
  nats: NatsCluster | null,
  env: (port: string, streams: string, at: number) => Record<string, string>
): Promise<Part[]> {
  const made: Part[] = [];
  for (let at = 0; at < count; at += 1) {
    const port = await freePort();
    const links = await Promise.all((nats?.nodes ?? []).map(({ url }) => openLink(url.replace('nats', 'http'))));
    const streams = links.map(({ url }) => url.replace('http', 'nats')).join();
    const variables = { LOG_LEVEL: 'info', ...env(String(port), streams, at) };
    made.push(new Part(`${name} ${at + 1}`, service, port, links, variables));
  }
  return made;
}

async function allAnswer(all: readonly Part[], path: string): Promise<void> {
  for (const part of all)
    await eventually(`${part.name} answers`, START_MS, async () => (await part.get(path)) !== null).catch(
      (fault: Error) => Promise.reject(new Error(`${fault.message}:\n${part.output.slice(-3_000)}`))
    );
}
