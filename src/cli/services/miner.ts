import { NodeChain } from '../../coin/node/node-chain.ts';
import { placeOf } from '../../config/service.ts';
import { type MinerConfig, minerChecks, minerVariables } from '../../config/services/miner.ts';
import type { Logger } from '../../log.ts';
import { createMinerApp } from '../../miner/app.ts';
import { Miner } from '../../miner/miner.ts';
import { MinerWallet } from '../../miner/wallet.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { startAtNode } from './node-service.ts';
import { type RunningService, runService } from './run-service.ts';

/** Command `platform-node miner`: mines on a regtest node when payments wait, until a signal. */
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

function startMiner(config: MinerConfig, log: Logger): Promise<RunningService> {
  return startAtNode({
    name: 'miner',
    config,
    log,
    place: placeOf(config, 'REGTEST_MINER', 'MINER_API_KEY'),
    retries: 0, // a payment or block may exist although its answer was lost
    open: (parts) => {
      const { rpc, network } = parts;
      const chain = new NodeChain(rpc);
      const wallet = new MinerWallet(rpc, network);
      const verify = (signal: AbortSignal) => chain.verifyNetwork(network, signal);
      const miner = new Miner({
        wallet,
        verify,
        idleMs: config.IDLE_MINE_INTERVAL_MS,
        log,
        silentMs: () => rpc.silentMs
      });
      return { app: createMinerApp({ ...parts, config, miner, wallet }), run: (signal) => miner.run(signal) };
    }
  });
}
