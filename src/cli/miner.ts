import { NodeChain } from '../coin/node-chain.ts';
import { NodeRpc } from '../coin/node-rpc.ts';
import { type MinerConfig, minerChecks, minerVariables } from '../config/miner.ts';
import { networkOf, nodeUrlOf } from '../config/node.ts';
import type { Logger } from '../log.ts';
import { createMinerApp } from '../miner/app.ts';
import { Miner } from '../miner/miner.ts';
import { MinerWallet } from '../miner/wallet.ts';
import { createMetrics } from '../observe/metrics/metrics.ts';
import { openServiceBase } from '../service/base.ts';
import { listen } from '../service/ingress/listen.ts';
import type { Command, Environment } from './command.ts';
import { readOptions } from './options.ts';
import { type RunningService, runService } from './run-service.ts';
import { loadSettings } from './settings.ts';

/** `platform-node miner`: mines on a regtest node when payments wait, until a signal ends it. */
export const minerCommand = {
  name: 'miner',
  summary: 'mines on a regtest coin node when payments wait, and hands out coins',
  variables: minerVariables,
  checks: minerChecks,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    readOptions(argv, {});
    const loaded = await loadSettings(minerCommand, env);
    return await runService('miner', loaded, startMiner);
  }
} satisfies Command<typeof minerVariables>;

/** Starts the front door and the miner. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
async function startMiner(config: MinerConfig, log: Logger): Promise<RunningService> {
  const network = networkOf(config);
  const { NODE_USER: user, NODE_PASSWORD: password, NODE_RPC_TIMEOUT: timeoutMs } = config;
  // No call is sent twice: a payment or a block may have been made though its answer was lost.
  const rpc = new NodeRpc({ url: nodeUrlOf(config), user, password, timeoutMs, retries: 0 });
  const chain = new NodeChain(rpc);
  const wallet = new MinerWallet(rpc, network);
  const verify = (signal: AbortSignal) => chain.verifyNetwork(network, signal);
  const miner = new Miner({ wallet, verify, idleMs: config.IDLE_MINE_INTERVAL_MS, log });
  const metrics = createMetrics({ service: 'miner', actors: () => [] });
  const base = await openServiceBase('miner', config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const app = createMinerApp({ ...base, config, log, network, miner, wallet });
  await listen(app, {
    service: 'miner',
    host: config.REGTEST_MINER_API_HOST,
    port: config.REGTEST_MINER_API_PORT,
    variables: { host: 'REGTEST_MINER_API_HOST', port: 'REGTEST_MINER_API_PORT', key: 'MINER_API_KEY' },
    hasKey: config.MINER_API_KEY !== undefined,
    log
  });
  const stopping = new AbortController();
  const ended = miner.run(stopping.signal);
  return {
    ended,
    stop: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      await app.close();
      await rpc.close();
      await base.close();
    }
  };
}
