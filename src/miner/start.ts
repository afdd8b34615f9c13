import { NodeChain } from '../coin/node/node-chain.ts';
import { placeOf } from '../config/service.ts';
import type { MinerConfig } from '../config/services/miner.ts';
import type { RunningService, Start } from '../service/define.ts';
import { startAtNode } from '../service/life/at-node.ts';
import { createMinerApp } from './app.ts';
import { Miner } from './miner.ts';
import { MinerWallet } from './wallet.ts';

/** Starts the miner. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
export function startMiner(config: MinerConfig, { service, log }: Start): Promise<RunningService> {
  return startAtNode({
    service,
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
