import { join } from 'node:path';
import { reachableUrl } from '../config/service-url.ts';
import type { Environment } from '../config/variables.ts';
import { COMMANDS, type NodeAddress, type Part, type Plan, type Server, urlOf } from '../installation/plan.ts';
import { INHERITED, variablesOf } from '../installation/variables.ts';
import { SELF } from '../process/self.ts';
import { edgeVariablesOf, variablesOfEdge } from './edges.ts';
import type { ServiceOrder } from './processes/process.ts';
import { DEVNET, type DevnetHub, type DevnetSettings, type EdgePlan, HOST, logPath } from './settings.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const PING = { method: 'POST', headers: JSON_BODY, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
const PROBE_TIMEOUT_MS = 2_000;

/** Rates that suit one machine which restarts its client at will. */
const SYNC = { SNAPSHOT_RATE_FULL: 10_000, SNAPSHOT_RATE_INCR: 100_000 };
/**
 * Variables of a devnet beside those of any platform: its indexer looks for blocks often, and its callers are many. Decoder and tracker are
 * told of blocks by the node.
 */
const EXTRAS: Readonly<Record<Part, Readonly<Record<string, number>>>> = {
  hub: { HUB_RATE_LIMIT_RPM: 10_000 },
  decoder: {},
  indexer: { INDEXER_POLL_INTERVAL: 200 },
  tracker: {
    UTXO_TRACKER_MEMPOOL_INTERVAL: 500,
    UTXO_TRACKER_RATE_LIMIT_RPM: 10_000
  },
  encoder: { ENCODER_RATE_LIMIT_RPM: 10_000 },
  explorer: { EXPLORER_RATE_LIMIT_RPM: 10_000 },
  miner: { MINER_RATE_LIMIT_RPM: 100_000 },
  server: SYNC,
  client: { ...SYNC, CLIENT_RECONNECT_DELAY: 500 }
};
/** Names of the processes, their directories and logs, where they are not those of the parts. */
const NAMES: Partial<Record<Part, string>> = { server: 'sync-server', client: 'sync-client' };
/** Paths that answer 200 once a part serves; default: its readiness. */
const PROBES: Partial<Record<Part, string>> = {
  decoder: '/status',
  encoder: '/status',
  server: '/health',
  client: '/health'
};

/** Returns the plan of a devnet. All its parts use one account. */
export function planOf(settings: DevnetSettings, database: Server, node: NodeAddress): Plan {
  const { directory, ports, apiKey } = settings;
  return {
    network: DEVNET,
    host: HOST,
    ports,
    apiKey,
    node,
    hubDatabase: 'Platform_Hub',
    serverFor: () => database,
    stateDirectory: (part) => join(directory, NAMES[part] ?? part, 'state')
  };
}

/** Returns the order for a part's process. */
export function orderOf(settings: DevnetSettings, plan: Plan, part: Part): ServiceOrder {
  const { edges, hubs } = settings;
  const own = { ...variablesOf(plan, part), ...EXTRAS[part], ...(edges ? edgeVariablesOf(edges, part) : {}) };
  // Whoever asks the hub asks each one of the set, in this order.
  const all =
    hubs.length > 0 && 'HUB_API_HOST' in own ? hubs.map(({ port }) => `${HOST}:${port}`).join(',') : undefined;
  const probe =
    part === 'hub'
      ? new Request(`${urlOf(plan, part)}/`, PING)
      : keyed(`${urlOf(plan, part)}${PROBES[part] ?? '/readyz'}`, settings);
  const variables = all === undefined ? own : { ...own, HUB_VALIDATORS: all };
  return processOrder(settings, { name: NAMES[part] ?? part, command: COMMANDS[part], variables, probe });
}

/** Returns the order for the process of one edge. @param number counts from 1 */
export function edgeOrder(settings: DevnetSettings, plan: Plan, edges: EdgePlan, number: number): ServiceOrder {
  const port = edges.ports[number - 1]!;
  const { apiKey } = settings;
  const variables = {
    ...variablesOfEdge(edges, port, { origin: urlOf(plan, 'server'), apiKey }),
    ...SYNC,
    STATE_DIR: join(settings.directory, `edge-${number}`, 'state')
  };
  const probe = keyed(`${reachableUrl(HOST, port)}/health`, settings);
  return processOrder(settings, { name: `edge-${number}`, command: 'edge', variables, probe });
}

function keyed(url: string, { apiKey }: DevnetSettings): Request {
  return new Request(url, { headers: { authorization: `Bearer ${apiKey}` } });
}

interface ProcessPlan {
  readonly name: string;
  /** Its word on the command line. */
  readonly command: string;
  readonly variables: Readonly<Record<string, string | number>>;
  readonly probe: Request;
}

function processOrder(settings: DevnetSettings, { name, command, variables, probe }: ProcessPlan): ServiceOrder {
  const { directory, shell, profile } = settings;
  const env: Record<string, string | undefined> = { PLATFORM_NODE_NO_TELEMETRY: '1', PLATFORM_PROFILE: profile };
  for (const variable of INHERITED) env[variable] = shell[variable];
  for (const [variable, value] of Object.entries(variables)) env[variable] = String(value);
  const [program, ...first] = settings.program ?? SELF;
  return {
    name,
    command: program,
    args: [...first, command],
    env: env satisfies Environment,
    directory: join(directory, name),
    logFile: logPath(directory, name),
    isReady: () => isWell(probe)
  };
}

/** Returns the order for the process of a hub of a set. */
export function orderOfHub(
  settings: DevnetSettings,
  plan: Plan,
  { name, port, database, variables }: DevnetHub
): ServiceOrder {
  const own = { ...plan, hubDatabase: database, ports: { ...plan.ports, hub: port } };
  const { env, ...order } = orderOf(settings, own, 'hub');
  const more = Object.entries(variables).map(([variable, value]) => [variable, String(value)]);
  return {
    ...order,
    name,
    args: [...order.args, '--rejoin'], // this directory may have had another set, or a standalone hub
    env: { ...env, ...Object.fromEntries(more) },
    directory: join(settings.directory, name),
    logFile: logPath(settings.directory, name)
  };
}

async function isWell(probe: Request): Promise<boolean> {
  const response = await fetch(probe.clone(), { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  await response.body?.cancel();
  return response.ok;
}
