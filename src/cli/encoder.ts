import { setTimeout as sleep } from 'node:timers/promises';
import type { Chain } from '../coin/chains.ts';
import { NodeChain } from '../coin/node-chain.ts';
import { NodeRpc } from '../coin/node-rpc.ts';
import { type EncoderConfig, encoderChecks, encoderVariables } from '../config/encoder.ts';
import { networkOf, nodeUrlOf } from '../config/node.ts';
import { createEncoderApp } from '../encoder/app.ts';
import { NodeCoins } from '../encoder/coins.ts';
import { NodePolicyReader } from '../encoder/node-policy.ts';
import { Reservations } from '../encoder/reservations.ts';
import { hasCode } from '../errors.ts';
import type { Logger } from '../log.ts';
import { createMetrics } from '../observe/metrics/metrics.ts';
import { openServiceBase } from '../service/base.ts';
import { listen } from '../service/ingress/listen.ts';
import type { Command, Environment } from './command.ts';
import { readOptions } from './options.ts';
import { type RunningService, runService } from './run-service.ts';
import { loadSettings } from './settings.ts';

/** `platform-node encoder`: builds transactions that carry actions, until a signal ends it. */
export const encoderCommand = {
  name: 'encoder',
  summary: 'builds unsigned transactions that carry actions, and broadcasts signed ones',
  variables: encoderVariables,
  checks: encoderChecks,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    readOptions(argv, {});
    const loaded = await loadSettings(encoderCommand, env);
    return await runService('encoder', loaded, startEncoder);
  }
} satisfies Command<typeof encoderVariables>;

/** Blocks until a block's reward may be spent. */
const COINBASE_MATURITY: Readonly<Record<Chain, number>> = { bitcoin: 100, litecoin: 100, dogecoin: 240 };
/** A caller waits for the answer. */
const NODE_RETRIES = 1;
const VERIFY_EVERY_MS = 5_000;

/** Starts the front door, and sees meanwhile that the node is one of its network. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
async function startEncoder(config: EncoderConfig, log: Logger): Promise<RunningService> {
  const network = networkOf(config);
  const { PLATFORM_PROFILE: profile, PAYLOAD_MAGIC, DUST_AMOUNT, ENCODER_MAX_FEE_RATE } = config;
  const { NODE_USER: user, NODE_PASSWORD: password, NODE_RPC_TIMEOUT: timeoutMs } = config;
  const rpc = new NodeRpc({ url: nodeUrlOf(config), user, password, timeoutMs, retries: NODE_RETRIES });
  const metrics = createMetrics({ service: 'encoder', actors: () => [] });
  const base = await openServiceBase('encoder', config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const app = createEncoderApp({
    ...base,
    config,
    log,
    rpc,
    network,
    profile,
    magic: PAYLOAD_MAGIC ?? profile.payloadMagic,
    dustFloor: DUST_AMOUNT,
    mostFeeRate: BigInt(ENCODER_MAX_FEE_RATE) * 1000n,
    policy: new NodePolicyReader(rpc),
    coins: new NodeCoins(rpc, { coinbaseMaturity: COINBASE_MATURITY[network.chain] }),
    reservations: new Reservations({
      ttlMs: config.ENCODER_RESERVATION_MS,
      most: config.ENCODER_MAX_RESERVATIONS
    }),
    serves: (code) => code.toUpperCase() === network.code
  });
  await listen(app, {
    service: 'encoder',
    host: config.ENCODER_API_HOST,
    port: config.ENCODER_API_PORT,
    variables: { host: 'ENCODER_API_HOST', port: 'ENCODER_API_PORT', key: 'ENCODER_API_KEY' },
    hasKey: config.ENCODER_API_KEY !== undefined,
    log
  });
  const stopping = new AbortController();
  const verified = verifyNode(new NodeChain(rpc), network, log, stopping.signal);
  return {
    ended: verified.then(() => new Promise<never>(() => undefined)),
    stop: async () => {
      stopping.abort();
      await verified.catch(() => undefined);
      await app.close();
      await rpc.close();
      await base.close();
    }
  };
}

/** Asks until the node answers. @throws {PlatformError} NODE_MISMATCH when it is one of another chain */
async function verifyNode(
  chain: NodeChain,
  network: ReturnType<typeof networkOf>,
  log: Logger,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    try {
      await chain.verify(network, signal);
      return;
    } catch (caught) {
      if (hasCode(caught, 'NODE_MISMATCH')) throw caught;
      if (!signal.aborted) log.warn({ err: caught }, 'the coin node cannot be used yet');
    }
    await sleep(VERIFY_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
