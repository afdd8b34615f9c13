import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';

/** A chain as a node recorded it: raw blocks by height. The highest is the tip. */
type RecordedChain = ReadonlyMap<number, Buffer>;

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RecordedNodeOptions {
  /** Blocks that the node refuses now. */
  readonly isRefused?: (hash: string) => boolean;
  /** Part of its chain that it has verified, as it states; default 1. */
  readonly progress?: () => number;
  /** Height of the headers that it says to have, default: of its tip. */
  readonly headers?: () => number;
}

/**
 * A double of dogecoind 1.14, which no test machine has: JSON-RPC on recorded blocks. It refuses verbosity 2, as that does, and
 * serves nothing by HTTP GET.
 */
export async function startRecordedNode(
  chain: RecordedChain,
  { isRefused = () => false, progress = () => 1, headers }: RecordedNodeOptions = {}
): Promise<{ readonly url: string }> {
  const tip = Math.max(...chain.keys());
  const hashOf = (bytes: Buffer) => hashId(bytes.subarray(0, 80));
  const blocks = new Map([...chain.values()].map((bytes) => [hashOf(bytes), bytes]));
  const transactions = new Map<string, Buffer>();
  for (const [hash, bytes] of blocks) {
    readRawBlock(bytes, { hash, isMergeMined: true }, (transaction) =>
      transactions.set(transaction.txid, Buffer.from(transaction.bytes))
    );
  }
  const found = (bytes: Buffer | undefined, code: number) => bytes?.toString('hex') ?? { code, message: 'not found' };
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    getblockchaininfo: () => ({
      chain: 'main',
      blocks: tip,
      ...(headers ? { headers: headers() } : {}),
      bestblockhash: hashOf(chain.get(tip)!),
      verificationprogress: progress()
    }),
    getblockhash: ([height]) => {
      const bytes = chain.get(Number(height));
      return bytes ? hashOf(bytes) : { code: -8, message: 'Block height out of range' };
    },
    getblock: ([hash, verbose]) =>
      verbose === false
        ? found(isRefused(String(hash)) ? undefined : blocks.get(String(hash)), -5)
        : { code: -1, message: 'JSON value is not a boolean' },
    getrawtransaction: ([txid]) => found(transactions.get(String(txid)), -5)
  };
  const answer = ({ id, method, params }: Call) => {
    const result = answers[method]?.(params) ?? { code: -32601, message: 'Method not found' };
    return Object(result).code === undefined ? { id, result, error: null } : { id, result: null, error: result };
  };
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Call | Call[];
    response.end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)));
  });
  after(() => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
