import { join } from 'node:path';
import { startLitecoind } from './litecoin.ts';
import type { MinedNode } from './miner.ts';
import type { NodeAddress } from './services.ts';

/** The devnet's coin node. */
export interface DevnetNode extends MinedNode {
  readonly address: NodeAddress;
  readonly pid: number;
  readonly logFile: string;
  stop(): Promise<void>;
}

const ACCOUNTS = 6;
/** Most rewards go to nobody: a wallet of many coins is slow. A rival branch pays the wallet, so that its blocks differ. */
const NOBODY = `0014${'00'.repeat(20)}`;

/** Starts litecoind for the miner. @throws {PlatformError} PREREQUISITE_MISSING, PROCESS_EXITED */
export async function startNode(directory: string): Promise<DevnetNode> {
  const litecoind = await startLitecoind(directory);
  const { pid, rpcPort, user, password, rpc } = litecoind;
  const { addresses } = (await rpc.call('decodescript', [NOBODY])) as { readonly addresses: readonly string[] };
  return {
    address: { host: '127.0.0.1', port: rpcPort, user, password },
    pid,
    logFile: join(directory, 'data', 'regtest', 'debug.log'),
    getHeight: () => litecoind.height(),
    accounts: () => litecoind.accounts(),
    fund: () => litecoind.fund(ACCOUNTS),
    mineBlocks: async (count) => void (await litecoind.mine(count, addresses[0])),
    pay: async (payment) => void (await litecoind.pay(payment)),
    reorg: async (depth) => {
      await litecoind.invalidate(depth);
      await litecoind.mine(depth + 1);
    },
    stop: () => litecoind.stop()
  };
}
