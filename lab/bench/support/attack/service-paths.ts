import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import { startTestLitecoind } from '../../../../test/support/litecoin.ts';
import { createDatabase } from '../../../../test/support/mariadb.ts';
import {
  databaseEnv,
  nodeEnv,
  type StartedProcess,
  startServiceProcess
} from '../../../../test/support/service-process.ts';
import { readFacts } from '../../../../test/support/shape.ts';
import { sql } from '../../../../test/support/sql.ts';
import { eventually } from '../../../../test/support/sync/sync-process.ts';
import { openAccounts } from '../../../loop/wallet.ts';
import type { Figure } from '../figures.ts';
import { measureGreed } from './greed.ts';

const CONNECTIONS = 200;
const COINS = 600;
const ROUNDS = 1_500;
const TABLES = [
  'price_snapshots',
  'oracle_prices',
  'cross_chain_matches',
  'capability_snapshots',
  'cross_chain_calls',
  'state_checkpoints',
  'anchor_reward_attestations'
];
/** Nobody is refused for asking often: what is measured is what answers cost. */
const UNLIMITED = { HTTP_MAX_PER_IP: '1000', LOG_LEVEL: 'error' } as const;
const RPM = '100000000';

type Methods = Readonly<Record<string, { readonly params?: object; readonly key?: true }>>;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const callOf = (method: string, params: object = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const post = (body: string) =>
  `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Calls of every method that a stranger may call, with parameters as clients in use send them. */
function callsOf(service: string, known: Readonly<Record<string, string>> = {}): string[] {
  const open = Object.entries(readFacts<Methods>(service)).filter(([, { key }]) => !key);
  return open.map(([method, { params = {} }]) =>
    post(callOf(method, JSON.parse(JSON.stringify(params), (_, value) => known[String(value)] ?? value) as object))
  );
}

/** A service that runs, how another caller asks it, and what a stranger may ask. */
interface Measured {
  readonly name: string;
  readonly port: number;
  readonly started: StartedProcess;
  /** Calls of the other caller, one after the other. */
  readonly own: readonly string[];
  readonly says: readonly string[];
  /** Milliseconds above the p99 without crowds: twice what a busy machine of two cores took. */
  readonly most: number;
}

async function measure({ name, port, started, own, says, most }: Measured): Promise<Figure[]> {
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    `${name} is ready`,
    120_000,
    async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
  );
  let turn = 0;
  const headers = { 'content-type': 'application/json' };
  const ask = () => fetch(url, { method: 'POST', headers, body: own[turn++ % own.length]! });
  const figures = await measureGreed(
    { name, port, pid: started.child.pid!, ask, most: { compare: 'above', most, aim: most / 2 } },
    {
      [`${name}: every method and path`]: { connections: CONNECTIONS, says, taking: 'at once' },
      [`${name}: the same, read slowly`]: { connections: CONNECTIONS, says, taking: 'slowly' }
    }
  );
  started.child.kill('SIGTERM');
  await started.exited;
  return figures;
}

async function startHub(): Promise<Measured> {
  const database = await createDatabase('hub');
  const port = await freePort();
  const env = { ...databaseEnv('HUB', database), HUB_HOST: '127.0.0.1', HUB_PORT: String(port) };
  const started = startServiceProcess('hub', { ...UNLIMITED, ...env, HUB_RATE_LIMIT_RPM: RPM });
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await eventually('the hub has its tables', 60_000, () => isReady().catch(() => false));
  await sql(
    database,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, status, consensus_proof, origin)
     SELECT seq, 'BTC/USD', 1, 1700000000, 100, 'finalized', REPEAT('x', 20000), 'validators' FROM seq_1_to_${ROUNDS}`
  );
  const paths = ['/api/v1/chain-registry', ...TABLES.map((table) => `/hub-db/snapshot/${table}`)];
  const own = [callOf('ping'), callOf('getvalidators'), callOf('getchaintips')];
  return { name: 'hub', port, started, own, says: [...callsOf('hub'), ...paths.map(get)], most: 150 };
}

/** Measures the cost to another caller when one stranger asks hub, tracker and encoder for all that clients in use ask for. */
export async function measureServicePaths(): Promise<Figure[]> {
  const figures = await measure(await startHub());
  const { node } = await startTestLitecoind();
  const [account] = await openAccounts(node, COINS, ['bech32']);
  const rich = account!.address;
  const poor = String(await node.rpc.call('getnewaddress', ['', 'bech32']));
  const [tracker, encoder] = [await freePort(), await freePort()];
  const known = { $address: rich, $paid: rich };
  const trackerProcess = startServiceProcess('utxo', {
    ...UNLIMITED,
    ...nodeEnv(node),
    ...databaseEnv('UTXO', await createDatabase('tracker')),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: String(tracker),
    UTXO_TRACKER_RATE_LIMIT_RPM: RPM
  });
  const encoderProcess = startServiceProcess('encoder', {
    ...UNLIMITED,
    ...nodeEnv(node),
    UTXO_TRACKER_URL: 'http://127.0.0.1',
    UTXO_TRACKER_API_PORT: String(tracker),
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: String(encoder),
    ENCODER_RATE_LIMIT_RPM: RPM
  });
  const create = { pubkey: rich, data: 'SEND|0|TOK|5|someone', feePerKb: '20000', utxos: [], fee: null };
  figures.push(
    ...(await measure({
      name: 'encoder',
      port: encoder,
      started: encoderProcess,
      most: 1_000,
      own: [callOf('estimate_fee'), callOf('get_utxos', { address: poor })],
      says: [...callsOf('encoder', known), post(callOf('create_tx', create))]
    })),
    ...(await measure({
      name: 'tracker',
      port: tracker,
      started: trackerProcess,
      most: 250,
      own: [callOf('get_balance', { address: poor }), callOf('get_utxos', { address: poor })],
      says: [...callsOf('tracker', known), ...['utxos', 'balance', 'info'].map((path) => get(`/${path}/${rich}`))]
    }))
  );
  return figures;
}
