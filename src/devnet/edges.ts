import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findProgram } from '../config/programs.ts';
import { reachableUrl } from '../config/service-url.ts';
import type { Environment } from '../config/variables.ts';
import type { Part } from '../installation/plan.ts';
import { freePort } from './processes/free-port.ts';
import type { ServiceOrder } from './processes/process.ts';
import { type EdgePlan, HOST, logPath } from './settings.ts';

const STREAM_BYTES = 64 * 2 ** 20;
/** The publisher may do everything; a reader may change nothing. */
const CHANGES = [
  'platform.>',
  '$KV.>',
  '$O.>',
  '$JS.API.STREAM.CREATE.>',
  '$JS.API.STREAM.UPDATE.>',
  '$JS.API.STREAM.DELETE.>'
];

/** Chooses ports and makes users for NATS, below the devnet's directory. */
export async function planEdges(directory: string, count: number): Promise<EdgePlan> {
  const { nkeys } = await import('@nats-io/transport-node');
  const path = join(directory, 'nats');
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const [publisher, reader] = [nkeys.createUser(), nkeys.createUser()];
  const keep = (name: string, seed: Uint8Array) => {
    const file = join(path, `${name}.nk`);
    writeFileSync(file, seed, { mode: 0o600 });
    return file;
  };
  const users = [
    { nkey: publisher.getPublicKey() },
    { nkey: reader.getPublicKey(), permissions: { publish: { deny: CHANGES } } }
  ];
  writeFileSync(join(path, 'nats-server.conf'), JSON.stringify({ authorization: { users } }));
  const ports: number[] = [];
  for (let edge = 0; edge < count; edge++) ports.push(await freePort());
  return {
    natsPort: await freePort(),
    ports,
    publisher: keep('publisher', publisher.getSeed()),
    reader: keep('reader', reader.getSeed())
  };
}

/** Returns the order for NATS. @throws {PlatformError} PREREQUISITE_MISSING */
export function natsOrder({ natsPort }: EdgePlan, directory: string, env: Environment): ServiceOrder {
  const path = join(directory, 'nats');
  const words = ['-c', join(path, 'nats-server.conf'), '-a', HOST, '-p', String(natsPort)];
  return {
    name: 'NATS',
    command: findProgram('nats-server', ['/usr/sbin/nats-server', '/usr/local/bin/nats-server']),
    args: [...words, '-js', '-sd', join(path, 'data'), '-P', join(path, 'nats.pid')],
    env,
    directory: path,
    logFile: logPath(directory, 'nats'),
    isReady: () => greets(natsPort)
  };
}

/** Returns the variables by which a part of the platform takes part in the edges: the server publishes, the client is behind edges. */
export function edgeVariablesOf(plan: EdgePlan, part: Part): Readonly<Record<string, string | number>> {
  if (part === 'client') return { SYNC_SOURCES: plan.ports.map((port) => reachableUrl(HOST, port)).join(',') };
  if (part !== 'server') return {};
  return {
    SYNC_NATS_URL: `nats://${HOST}:${plan.natsPort}`,
    SYNC_NATS_CREDS: plan.publisher,
    SYNC_RELAY_MAX_BYTES: STREAM_BYTES
  };
}

/** Returns the variables of one edge. @param origin base URL of the sync server */
export function variablesOfEdge(
  plan: EdgePlan,
  port: number,
  { origin, apiKey }: { readonly origin: string; readonly apiKey: string }
): Readonly<Record<string, string | number>> {
  return {
    EDGE_API_HOST: HOST,
    EDGE_API_PORT: port,
    EDGE_API_KEY: apiKey,
    SYNC_NATS_URL: `nats://${HOST}:${plan.natsPort}`,
    SYNC_NATS_CREDS: plan.reader,
    SYNC_ORIGIN_URL: origin,
    SYNC_ORIGIN_KEY: apiKey
  };
}

/** Returns whether NATS answers: it says `INFO` to whoever connects. */
async function greets(port: number): Promise<boolean> {
  const socket = connect({ host: HOST, port });
  try {
    const [greeting] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    return String(greeting).startsWith('INFO');
  } finally {
    socket.destroy();
  }
}
