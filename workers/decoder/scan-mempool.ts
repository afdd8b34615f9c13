import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node/node-rpc.ts';
import { RawChain } from '../../src/coin/node/raw-chain.ts';
import { readRawTransaction } from '../../src/coin/raw/raw-transaction.ts';
import type { TransactionRow } from '../../src/decoder/block-rows.ts';
import { type ScanRules, TransactionScan } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';

/** Transactions of one node's mempool, and how to read them. */
export interface ScanMempoolInput {
  readonly node: NodeRpcOptions;
  readonly txids: readonly string[];
  /** The block that may hold them. */
  readonly height: number;
  readonly rules: ScanRules;
}

/** Reads what a decoder database would hold of transactions that no block holds yet; those that left meanwhile are passed over. */
export default async function scanMempool(input: ScanMempoolInput): Promise<readonly TransactionRow[]> {
  const { node, txids, height, rules } = input;
  const rpc = new NodeRpc({ ...node, retries: 0 });
  try {
    const chain = new RawChain(rpc);
    const scan = new TransactionScan(height, rules);
    for (const bytes of await chain.presentTransactions(txids)) scan.visit(readRawTransaction(bytes));
    const [found] = await resolveSources([scan], (wanted) => chain.transactions(wanted), new Map(), rules);
    return found!.transactions;
  } finally {
    await rpc.close();
  }
}
