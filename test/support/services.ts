import type { ChildProcess } from 'node:child_process';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { startCollector } from './collector.ts';
import { startTestLitecoind, type TestLitecoind } from './litecoin.ts';
import { createDatabase } from './mariadb.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from './service-process.ts';
import { eventually, temporaryDirectory } from './sync/sync-process.ts';

type Environment = Readonly<Record<string, string>>;

/** Particulars of a service; all else is the same in each. */
interface ServiceRow {
  readonly name: string;
  /** The command that runs it. */
  readonly command: string;
  /** Its variables are `<prefix>_HOST`, `<prefix>_PORT`. */
  readonly prefix: string;
  readonly keyVariable: string;
  /** Path of its console page. */
  readonly console: string;
  /** Whether it answers JSON-RPC. */
  readonly hasMethods: boolean;
  /** Its module in the hub's configuration, which may name its port. */
  readonly module?: string;
}

const OF_RPC = { console: '/', hasMethods: true };
export const SERVICE_ROWS: readonly ServiceRow[] = [
  { ...OF_RPC, name: 'hub', command: 'hub', prefix: 'HUB', keyVariable: 'HUB_API_KEY' },
  {
    ...OF_RPC,
    name: 'decoder',
    command: 'decoder',
    prefix: 'DECODER_API',
    keyVariable: 'DECODER_API_KEY',
    module: 'decoder'
  },
  {
    ...OF_RPC,
    name: 'indexer',
    command: 'indexer',
    prefix: 'INDEXER_API',
    keyVariable: 'INDEXER_API_KEY',
    module: 'indexer'
  },
  {
    ...OF_RPC,
    name: 'encoder',
    command: 'encoder',
    prefix: 'ENCODER_API',
    keyVariable: 'ENCODER_API_KEY',
    module: 'encoder'
  },
  {
    ...OF_RPC,
    command: 'utxo',
    name: 'tracker',
    prefix: 'UTXO_TRACKER_API',
    keyVariable: 'UTXO_TRACKER_API_KEY',
    module: 'utxo-tracker'
  },
  {
    ...OF_RPC,
    command: 'miner',
    name: 'miner',
    prefix: 'REGTEST_MINER_API',
    keyVariable: 'MINER_API_KEY',
    module: 'regtest-miner',
    console: '/console'
  },
  {
    command: 'explorer',
    name: 'explorer',
    prefix: 'EXPLORER_API',
    keyVariable: 'EXPLORER_API_KEY',
    module: 'explorer',
    console: '/console',
    hasMethods: false
  },
  { name: 'sync', command: 'sync', prefix: 'SYNC_API', keyVariable: 'SYNC_API_KEY', console: '/', hasMethods: false }
];

export const KEY = 'key-of-every-service';
export const ORIGIN = 'https://console.example';

/** A service as an operator starts it. */
export interface RunningService extends ServiceRow {
  readonly url: string;
  readonly port: number;
  readonly env: Environment;
  readonly child: ChildProcess;
}

/** Base of a platform with every service. */
export interface Platform {
  readonly services: readonly RunningService[];
  readonly node: TestLitecoind['node'];
  readonly collector: Awaited<ReturnType<typeof startCollector>>;
}

/**
 * Every service of one litecoin regtest beside a real node: each a process of its own that takes the same key, trusts a proxy on the
 * loopback, allows one origin, and sends its traces to a collector. They end with the test file.
 *
 * @param key the key of all of them; empty: they have none
 */
export async function startPlatform(key = KEY): Promise<Platform> {
  const [{ node }, collector] = await Promise.all([startTestLitecoind(), startCollector()]);
  await node.mine(3);
  const ports = new Map<string, number>();
  for (const row of SERVICE_ROWS) ports.set(row.name, await freePort());
  const urlOf = (wanted: string) => `http://127.0.0.1:${ports.get(wanted)}`;
  const common = {
    TRUST_PROXY: '127.0.0.1',
    CORS_ORIGINS: ORIGIN,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    CONSOLE_SERVICES: SERVICE_ROWS.map((row) => urlOf(row.name)).join(','),
    CONSOLE_SERVICES_KEY: key
  };
  const start = async (row: ServiceRow, own: Environment): Promise<RunningService> => {
    const { name, command, prefix, keyVariable } = row;
    const port = ports.get(name)!;
    const at = { [`${prefix}_HOST`]: '127.0.0.1', [`${prefix}_PORT`]: String(port) };
    const env = { ...common, ...own, ...at, [keyVariable]: key };
    const { child, output } = startServiceProcess(command, env);
    const url = urlOf(name);
    let last = 'nothing';
    await eventually(`${name} is ready`, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      last = (await answer?.text()) ?? last;
      return answer?.status === 200;
    }).catch(async (fault: Error) => {
      const status = await fetch(`${url}/status`, { headers: { 'x-api-key': key } }).then((answer) => answer.text());
      throw new Error(`${fault.message}; it said ${last}\n${output()}\nits status: ${status}`);
    });
    return { ...row, url, port, env, child };
  };
  const rowOf = (wanted: string) => SERVICE_ROWS.find(({ name }) => name === wanted)!;
  const hub = await start(rowOf('hub'), databaseEnv('HUB', await createDatabase('platform_hub')));
  const decoderDatabase = await createDatabase('platform_decoder');
  const indexerDatabase = await createDatabase('platform_indexer');
  const [decoder, indexer] = [databaseEnv('DECODER', decoderDatabase), databaseEnv('INDEXER', indexerDatabase)];
  const tracker = databaseEnv('UTXO', await createDatabase('platform_tracker'));
  const { host, port, name, user, pass } = indexerDatabase;
  await call(hub, 'updateconfig', {
    config: { LTC: { regtest: { 'platform-indexer': { db_host: host, db_port: port, name, user, pass } } } }
  });
  const atHub = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(hub.port), HUB_API_KEY: key };
  const own: Readonly<Record<string, Environment>> = {
    decoder: { ...nodeEnv(node), ...decoder, DECODER_POLL_INTERVAL: '50' },
    indexer: { INDEXER_COIN: 'LTC', INDEXER_NETWORK: 'regtest', ...decoder, ...indexer, INDEXER_POLL_INTERVAL: '50' },
    tracker: { ...nodeEnv(node), ...tracker, UTXO_TRACKER_POLL_INTERVAL: '50' },
    encoder: { ...nodeEnv(node), ENCODER_RATE_LIMIT_RPM: '1000' }, // each call of a batch counts
    miner: nodeEnv(node),
    explorer: {
      NETWORK: 'RLTC',
      ...decoder,
      ...indexer,
      INDEXER_API_PORT: String(ports.get('indexer')),
      INDEXER_API_KEY: key
    },
    sync: { ...atHub, SYNC_MODE: 'server', SYNC_STATE_DIR: temporaryDirectory('state') }
  };
  const first = await start(rowOf('decoder'), own['decoder']!);
  const others = SERVICE_ROWS.filter((row) => row.name !== 'hub' && row.name !== 'decoder');
  // One that waits for another is not the one at fault: all that are not ready are named.
  const rest = await settledAll(others.map((row) => start(row, own[row.name]!)));
  return { services: [hub, first, ...rest], node, collector };
}

/** Waits for all. @throws {AggregateError} of all that failed */
async function settledAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const faults = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join('\n\n'));
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
}

/** One JSON-RPC call with the key. @returns the whole reply */
export async function call(
  { url }: Pick<RunningService, 'url'>,
  method: string,
  params: object = {}
): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json', 'x-api-key': KEY };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(url, { method: 'POST', headers, body });
  return (await answer.json()) as Record<string, unknown>;
}
