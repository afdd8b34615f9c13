import { decoderMachine } from '../../../machines/follower/chain-writer.ts';
import type { ChainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../../../src/coin/node/node-rpc.ts';
import { connect, type SqlRow } from '../../../src/db/connection.ts';
import { BlockFeed } from '../../../src/decoder/block-feed.ts';
import type { ScanRules } from '../../../src/decoder/block-scan.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { ChainWork } from '../../../src/follower/work.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import { runLoop } from '../follower/run-loop.ts';

interface TestLoopOptions {
  readonly database: DatabaseCoordinates;
  readonly node: NodeRpcOptions;
  readonly network: ChainNetwork;
  readonly magic: string;
  readonly startBlock?: number;
}

const TIP =
  'SELECT block_index, hash FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY block_index DESC LIMIT 1';

/** Returns the rules by which a test's decoder reads blocks: payloads in taproot scripts count from the first block on. */
export function scanRules({ addresses, chain, ticker, code }: ChainNetwork, magic: string): ScanRules {
  return {
    magic,
    addresses,
    coins: [ticker, code],
    isMergeMined: chain === 'dogecoin',
    envelopeHeight: 0,
    feeAddress: null,
    alwaysHops: false,
    revealKeyHeight: 0,
    signatureHeight: 0,
    feeOnceHeight: 0,
    paymentLimitHeight: 0
  };
}

/** A decoder of the test's own on a database, fast to poll and to retry; it is stopped after the test file. */
export function startLoop({ database, node, network, magic, startBlock = 0 }: TestLoopOptions) {
  const { url, user, password } = node;
  const rpc = new NodeRpc({ url, user, password, retries: 0 });
  const chain = new NodeChain(rpc);
  const rules = scanRules(network, magic);
  const feed = new BlockFeed({
    versions: network.addresses,
    parallelism: 2,
    retries: 0,
    scan: (range) => scanBlocks({ node: { url, user, password }, range, rules })
  });
  const work = new ChainWork({
    command: 'decoder',
    network,
    startBlock,
    pollIntervalMs: 20,
    chain,
    feed,
    take: async (store: DecoderStore, from, tip, signal) =>
      feed.take(from, tip, await store.paymentMarks(network.addresses), signal),
    openStore: () => openDecoderStore(database),
    log: silentLogger
  });
  const readTip = async () => {
    const [tip] = await query(database, TIP);
    return `${tip?.['block_index']} ${tip?.['hash']}`;
  };
  const { reachTip, ...run } = runLoop({ machine: decoderMachine, work, rpc, feed, readTip });
  return { ...run, reach: (height: number, hash: unknown) => reachTip(`${height} ${hash}`) };
}

/** Rows of one statement on a connection of its own. */
export async function query(database: DatabaseCoordinates, sql: string): Promise<Record<string, unknown>[]> {
  const connection = await connect(database);
  try {
    const [result] = await connection.query(sql);
    return Array.isArray(result) ? (result as SqlRow[]).map((row) => ({ ...row })) : [];
  } finally {
    await connection.end();
  }
}
