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

/** The wallet's coins; each can pay once a block. */
const COINS = 24;
/** Base units. */
const COINPAY_AMOUNT = 50_000n;
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
    fund: () => litecoind.fund(COINS),
    mineBlocks: async (count) => void (await litecoind.mine(count, addresses[0])),
    pay: async (action) => {
      // What a COINPAY pays is in its outputs; the others only carry their action.
      const address = addresses[0];
      const outputs = action.startsWith('COINPAY|') && address ? [{ address, amount: COINPAY_AMOUNT }] : [];
      await litecoind.pay({ action, outputs });
    },
    reorg: async (depth) => {
      await litecoind.invalidate(depth);
      await litecoind.mine(depth + 1);
    },
    stop: () => litecoind.stop()
  };
}
