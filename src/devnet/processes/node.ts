import { join } from 'node:path';
import { type AskedService, askService } from '../../installation/ask.ts';
import type { NodeAddress } from '../../installation/plan.ts';
import { type PrivateLitecoind, startLitecoind } from './litecoin.ts';
import type { MinedNode } from './miner.ts';

/** The devnet's coin node. */
interface DevnetNode {
  readonly address: NodeAddress;
  readonly pid: number;
  readonly logFile: string;
  /**
   * Returns the node with the wallet that pays, mined by the miner at a URL. From then on the miner mines nothing by
   * itself.
   */
  minedBy(url: string): Promise<MinedNode>;
  stop(): Promise<void>;
}

const ACCOUNTS = 6;
/**
 * Script that gets most rewards: a wallet with many coins is slow. Only rival branches pay the wallet, so that their
 * blocks differ.
 */
const NOBODY = `0014${'00'.repeat(20)}`;

/** Starts litecoind. @throws {PlatformError} PREREQUISITE_MISSING, PROCESS_EXITED */
export async function startNode(directory: string): Promise<DevnetNode> {
  const litecoind = await startLitecoind(directory);
  const { pid, rpcPort, user, password } = litecoind;
  return {
    address: { host: '127.0.0.1', port: rpcPort, user, password },
    pid,
    logFile: join(directory, 'data', 'regtest', 'debug.log'),
    minedBy: (url) => minedNode(litecoind, { name: 'miner', url, fault: 'NODE_REFUSED' }),
    stop: () => litecoind.stop()
  };
}

async function minedNode(litecoind: PrivateLitecoind, miner: AskedService): Promise<MinedNode> {
  const { rpc } = litecoind;
  const { addresses } = (await rpc.call('decodescript', [NOBODY])) as { readonly addresses: readonly string[] };
  await askService(miner, 'pause_mining', {});
  return {
    getHeight: () => litecoind.height(),
    accounts: () => litecoind.accounts(),
    fund: () => litecoind.fund(ACCOUNTS),
    mineBlocks: async (count) => void (await askService(miner, 'generate_blocks', { count, address: addresses[0] })),
    earn: async () => void (await askService(miner, 'generate_blocks', { count: 1 })),
    pay: async (payment) => void (await litecoind.pay(payment)),
    reorg: async (depth) => {
      const lowest = Math.max(1, (await litecoind.height()) - depth + 1); // callers of the miner may have taken blocks
      const block_hash = await rpc.call('getblockhash', [lowest]);
      await askService(miner, 'invalidate_block', { block_hash });
      await askService(miner, 'generate_blocks', { count: depth + 1 });
    }
  };
}
