import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node/node-rpc.ts';
import { RawChain } from '../../src/coin/node/raw-chain.ts';
import { readRawTransaction } from '../../src/coin/raw/raw-transaction.ts';
import type { TransactionRow } from '../../src/decoder/block-rows.ts';
import { type ScanRules, TransactionScan } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';
import { hasCode } from '../../src/errors.ts';

/** Transactions of one node's mempool, and how to read them. */
interface ScanMempoolInput {
  readonly node: NodeRpcOptions;
  readonly txids: readonly string[];
  /** The block that may hold them. */
  readonly height: number;
  readonly rules: ScanRules;
}

interface ScannedMempool {
  readonly transactions: readonly TransactionRow[];
  /** Transactions that cannot be read, or spend from one that cannot. */
  readonly oddCount: number;
}

/**
 * Reads what a decoder database would hold of transactions that no block holds yet; those that left meanwhile are passed over, and odd
 * ones are counted.
 */
export default async function scanMempool(input: ScanMempoolInput): Promise<ScannedMempool> {
  const { node, txids, height, rules } = input;
  const rpc = new NodeRpc({ ...node, retries: 0 });
  try {
    const chain = new RawChain(rpc);
    const { found, odd } = await chain.presentTransactions(txids);
    const known = new Map<string, Buffer>();
    const resolve = async (bytes: readonly Buffer[]) => {
      const scan = new TransactionScan(height, rules);
      for (const each of bytes) scan.visit(readRawTransaction(each));
      const [resolved] = await resolveSources([scan], (wanted) => chain.transactions(wanted), known, rules);
      return resolved!.transactions;
    };
    try {
      return { transactions: await resolve(found), oddCount: odd.length };
    } catch (caught) {
      if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
    }
    // What one of them spends from cannot be had: the others are read all the same.
    const alone = await Promise.all(found.map((bytes) => orNull(resolve([bytes]))));
    const oddCount = odd.length + alone.filter((rows) => rows === null).length;
    return { transactions: alone.flatMap((rows) => rows ?? []), oddCount };
  } finally {
    await rpc.close();
  }
}

/** Returns a reading; null for what the node refuses. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (caught) {
    if (hasCode(caught, 'NODE_REFUSED')) return null;
    throw caught;
  }
}
