import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { reachableUrl } from '../config/service-url.ts';
import { connect } from '../db/connection.ts';
import { registerModules } from '../installation/modules.ts';
import type { NodeAddress, Part } from '../installation/plan.ts';
import type { ProbeAddress } from '../service/life/probe.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { natsOrder } from './edges.ts';
import type { RunningHubs } from './hub-proof.ts';
import { waitUntilJoined } from './hubs.ts';
import type { Watched } from './platform-state.ts';
import { startMariaDb } from './processes/mariadb.ts';
import type { MinedNode } from './processes/miner.ts';
import { startNode } from './processes/node.ts';
import { type Service, type ServiceOrder, startService, watchProcess } from './processes/process.ts';
import { edgeOrder, orderOf, orderOfHub, planOf } from './services.ts';
import { DEVNET, type DevnetHub, type DevnetSettings, HOST, logPath } from './settings.ts';

/** Addresses and keys of a devnet's parts, for programs that use it. */
export interface DevnetAddresses {
  readonly network: string;
  /** `RLTC` */
  readonly code: string;
  /** Path of the profile; null for the default profile. */
  readonly profile: string | null;
  readonly apiKey: string;
  /** URLs by name. */
  readonly services: Readonly<Record<string, string>>;
  readonly node: NodeAddress;
  readonly database: Omit<DatabaseCoordinates, 'name'>;
}

/** A running devnet: every service of the platform on one machine. */
export interface Platform {
  readonly node: MinedNode;
  /** Address of the coin node. */
  readonly coin: NodeAddress;
  readonly database: Omit<DatabaseCoordinates, 'name'>;
  readonly indexer: ProbeAddress;
  readonly server: ProbeAddress;
  readonly client: ProbeAddress;
  readonly addresses: DevnetAddresses;
  readonly watched: Watched;
  /** Hubs of its set; without members the hub is a standalone one. */
  readonly hubs: RunningHubs;
  /** Rejects with PROCESS_EXITED when a part ends by itself. Never resolves. */
  readonly death: Promise<never>;
  /** Stops everything in reverse order of the start. Returns when no process is left. */
  stop(): Promise<void>;
}

/**
 * Starts MariaDB, coin node, miner, hub, decoder, indexer, tracker, encoder, explorer, sync server and sync client; with edges
 * NATS before the server, and the edges behind it.
 * Each starts when the one before it serves.
 *
 * @param signal ends a start under way; parts that run are stopped then
 * @throws {PlatformError} PREREQUISITE_MISSING, PROCESS_EXITED with the part and the end of its log
 */
export async function startPlatform(settings: DevnetSettings, signal: AbortSignal): Promise<Platform> {
  const parts = new AsyncDisposableStack();
  try {
    return await startParts(settings, signal, parts);
  } catch (caught) {
    await parts.disposeAsync();
    throw caught;
  }
}

async function startParts(
  settings: DevnetSettings,
  signal: AbortSignal,
  parts: AsyncDisposableStack
): Promise<Platform> {
  const { directory, ports, apiKey, edges, tell } = settings;
  const deaths: Promise<never>[] = [];
  /** Starts a part. @param end stops the part; called in reverse order */
  const start = async <T>(name: string, begin: () => Promise<T>, end: (part: T) => Promise<void>): Promise<T> => {
    signal.throwIfAborted();
    tell(`starting ${name}`);
    return parts.adopt(await begin(), end);
  };
  const service = async (of: Part | ServiceOrder): Promise<void> => {
    const order = typeof of === 'string' ? orderOf(settings, plan, of) : of;
    const begin = () => startService(order, signal);
    const { death } = await start<Service>(order.name, begin, (part) => part.stop());
    deaths.push(death);
  };

  mkdirSync(join(directory, 'logs'), { recursive: true });
  const mariaDirectory = join(directory, 'mariadb');
  const mariadb = await start(
    'MariaDB',
    () => startMariaDb(mariaDirectory, ['--log-bin=binlog', '--binlog-format=ROW', '--expire-logs-days=1']),
    (part) => part.stop()
  );
  const coinNode = await start(
    'litecoind',
    () => startNode(join(directory, 'litecoind')),
    (part) => part.stop()
  );
  for (const [name, pid, log] of [
    ['MariaDB', mariadb.pid, join(mariaDirectory, 'mariadb.log')],
    ['litecoind', coinNode.pid, coinNode.logFile]
  ] as const) {
    const watch = watchProcess(name, pid, log);
    parts.defer(watch.end);
    deaths.push(watch.death);
  }
  const database = mariadb.root;
  const plan = planOf(settings, database, coinNode.address);
  await service('miner');
  const minerUrl = `http://127.0.0.1:${ports.miner}`;
  const node = await coinNode.minedBy(minerUrl);
  const running = new Map<string, Service>();
  const startHub = async (hub: DevnetHub): Promise<void> => {
    const order = orderOfHub(settings, plan, hub);
    const part = await start<Service>(
      hub.name,
      () => startService(order, signal),
      (one) => one.stop()
    );
    running.set(hub.name, part);
    deaths.push(part.death);
  };
  if (settings.hubs.length === 0) await service('hub');
  await Promise.all(settings.hubs.map(startHub));
  await waitUntilJoined(settings.hubs, apiKey, signal);
  await registerModules(plan);
  for (const part of ['decoder', 'indexer', 'tracker', 'encoder', 'explorer'] as const) await service(part);
  if (edges) await service(natsOrder(edges, directory, { PATH: settings.shell['PATH'] }));
  await service('server');
  for (const number of edges?.ports.keys() ?? []) await service(edgeOrder(settings, plan, edges!, number + 1));
  await service('client');

  const connection = await start(
    'status',
    () => connect(database),
    async (part) => part.destroy()
  );
  const indexer = { url: `http://127.0.0.1:${ports.indexer}`, apiKey };
  const server = { url: `http://127.0.0.1:${ports.server}`, apiKey };
  const client = { url: `http://127.0.0.1:${ports.client}`, apiKey };
  tell(`all parts run; logs are in ${logPath(directory, '*')}`);
  tell(`miner: ${minerUrl} (sends coins to an address)`);
  tell(`tracker: http://127.0.0.1:${ports.tracker} (the coins of an address)`);
  tell(`encoder: http://127.0.0.1:${ports.encoder}`);
  tell(`explorer: http://127.0.0.1:${ports.explorer}`);
  tell(`hub: http://127.0.0.1:${ports.hub} (where each of these is)`);
  for (const { name, port } of settings.hubs.slice(1)) tell(`${name}: http://${HOST}:${port} (of the set of the hub)`);
  tell(
    `consoles: indexer ${indexer.url}, server ${server.url}, client ${client.url}; their key, made for this run: ${apiKey}`
  );
  const edgeUrls = edges?.ports.map((port) => reachableUrl(HOST, port)) ?? [];
  if (edges) tell(`NATS: nats://${HOST}:${edges.natsPort}; edges between server and client: ${edgeUrls.join(', ')}`);
  const death = Promise.race(deaths);
  death.catch(() => undefined); // callers await it
  return {
    node,
    coin: coinNode.address,
    database,
    indexer,
    server,
    client,
    addresses: {
      network: DEVNET.name,
      code: DEVNET.code,
      profile: settings.profile ?? null,
      apiKey,
      services: Object.fromEntries([
        ...Object.entries(ports).map(([name, port]) => [name, `http://${HOST}:${port}`]),
        ...edgeUrls.map((url, index) => [`edge-${index + 1}`, url])
      ]),
      node: coinNode.address,
      database
    },
    watched: { node, connection, server, client },
    hubs: {
      members: settings.hubs,
      apiKey,
      kill: async ({ name }) => await running.get(name)?.stop('SIGKILL'),
      restart: startHub
    },
    death,
    stop: () => parts.disposeAsync()
  };
}
