import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { NodeWatch } from '../../../src/coin/node/node-watch.ts';
import { DEFAULT_PROFILE, type Profile } from '../../../src/coin/profile.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { createEncoderApp } from '../../../src/encoder/app.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { Reservations } from '../../../src/encoder/coins/reservations.ts';
import { NodePolicyReader } from '../../../src/encoder/creation/node-policy.ts';
import { silentLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';
import { FRAME_CONFIG } from '../frame.ts';

export const LOOP_NETWORK = chainNetwork('litecoin', 'regtest');
/** The default one, with payloads in taproot scripts from the first block on. */
export const LOOP_PROFILE: Profile = {
  ...DEFAULT_PROFILE,
  activations: { ...DEFAULT_PROFILE.activations, TAPROOT_ENVELOPE: 0 }
};

export interface RpcReply {
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export interface TestEncoder {
  readonly reservations: Reservations;
  readonly url: string;
  /** Sends one call by HTTP. */
  ask(method: string, params?: unknown, headers?: Readonly<Record<string, string>>): Promise<RpcReply>;
  /** @returns the result @throws {Error} with the reply's error */
  call<T = Readonly<Record<string, string>>>(method: string, params?: unknown): Promise<T>;
  close(): Promise<void>;
}

const [LOOKS, LOOK_MS] = [2_000, 5];

interface TestEncoderOptions {
  readonly apiKey?: string;
  readonly dustFloor?: number;
}

/** An encoder beside a litecoind, on a free port of the loopback. */
export async function startTestEncoder(
  node: Pick<PrivateLitecoind, 'url' | 'user' | 'password'>,
  { apiKey, dustFloor = 0 }: TestEncoderOptions = {}
): Promise<TestEncoder> {
  const rpc = new NodeRpc({ url: node.url, user: node.user, password: node.password, retries: 0 });
  const reservations = new Reservations({ ttlMs: 600_000, mostOfOne: 100_000, most: 100_000 });
  const stopping = new AbortController();
  const watching = new NodeWatch({
    chain: new NodeChain(rpc),
    network: LOOP_NETWORK,
    needs: { hasIndex: true, blocksFrom: null },
    silentMs: () => rpc.silentMs,
    onAlarm: () => undefined,
    everyMs: 50
  });
  const watched = watching.run(stopping.signal);
  const app = createEncoderApp({
    seen: { node: watching, tracker: () => undefined },
    version: '1.0.0',
    log: silentLogger,
    metrics: createMetrics({ service: 'encoder', actors: () => [] }),
    consoleFiles: new Map(),
    tracing: undefined,
    config: {
      ...FRAME_CONFIG,
      HTTP_MAX_PER_IP: 2_000,
      ENCODER_API_KEY: apiKey === undefined ? undefined : [apiKey],
      ENCODER_RATE_LIMIT_RPM: 1_000_000
    },
    rpc,
    network: LOOP_NETWORK,
    profile: LOOP_PROFILE,
    magic: LOOP_PROFILE.payloadMagic,
    dustFloor,
    mostFeeRate: 10_000_000n,
    policy: new NodePolicyReader(rpc, LOOP_NETWORK, 10_000_000n),
    coins: new NodeCoins(rpc, { coinbaseMaturity: 100 }),
    reservations,
    serves: (code) => code === LOOP_NETWORK.code
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  // Until its first look at the node it refuses calls that look for coins.
  for (let left = LOOKS; left > 0 && watching.tip === null && watching.alarm === null; left--) await sleep(LOOK_MS);
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const ask: TestEncoder['ask'] = async (method, params, headers = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(`${url}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body
    });
    return (await response.json()) as RpcReply;
  };
  return {
    reservations,
    url,
    ask,
    call: async <T>(method: string, params?: unknown) => {
      const { result, error } = await ask(method, params);
      if (error) throw new Error(`${method}: ${error.message} ${JSON.stringify(error.data)}`);
      return result as T;
    },
    close: async () => {
      stopping.abort();
      await watched;
      await app.close();
      await rpc.close();
    }
  };
}
