import { LRUCache } from 'lru-cache';
import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node-rpc.ts';
import { RawChain } from '../../src/coin/raw-chain.ts';
import type { BlockRange, ScannedRange } from '../../src/decoder/block-feed.ts';
import { type ScannedBlock, type ScanRules, scanBlock } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';

/** A range of blocks of one node, and how to read them. */
export interface ScanBlocksInput {
  readonly node: NodeRpcOptions;
  readonly range: BlockRange;
  readonly rules: ScanRules;
}

/** A range ends early when its blocks are larger than its planner knew. */
const MAX_BYTES = 32 * 2 ** 20;
/** Small blocks of one request. */
const PER_REQUEST = 50;
/** Large blocks that are on their way while one is read. */
const AHEAD = 2;

/** An action is often paid from the change of the one before, or from an output of a transaction that paid others. */
const known = new LRUCache<string, Buffer>({ maxSize: 16 * 2 ** 20, sizeCalculation: ({ length }) => length });

/** Nodes that do not serve blocks by HTTP GET, by URL. */
const withoutRest = new Set<string>();

/** Fetches blocks of a coin node and reads what a decoder database holds of them: one attempt, no retries. */
export default async function scanBlocks({ node, range, rules }: ScanBlocksInput): Promise<ScannedRange> {
  const rpc = new NodeRpc({ ...node, retries: 0 });
  try {
    const chain = new RawChain(rpc, !withoutRest.has(node.url));
    const { blocks, sizeBytes } = await scanRange(chain, range, rules);
    if (!chain.hasRest) withoutRest.add(node.url);
    return { blocks: await resolveSources(blocks, (txids) => chain.transactions(txids), known, rules), sizeBytes };
  } finally {
    await rpc.close();
  }
}

async function scanRange(chain: RawChain, range: BlockRange, rules: ScanRules) {
  const blocks: ScannedBlock[] = [];
  const wanted = new Set(range.wanted);
  let sizeBytes = 0;
  for await (const { hash, bytes } of fetchBlocks(chain, range)) {
    blocks.push(scanBlock(bytes, { height: range.from + blocks.length, hash }, rules, wanted));
    sizeBytes += bytes.length;
    if (sizeBytes >= MAX_BYTES) break;
  }
  return { blocks, sizeBytes };
}

/** The blocks in order, fetched ahead. */
async function* fetchBlocks(chain: RawChain, { from, count, isSmall }: BlockRange) {
  const hashes = await chain.hashes(from, count);
  const perRequest = isSmall ? PER_REQUEST : 1;
  const underWay: Promise<readonly Buffer[]>[] = [];
  for (let next = 0, first = 0; first < count; first += perRequest) {
    for (; next < count && underWay.length < AHEAD; next += perRequest) {
      const part = hashes.slice(next, next + perRequest);
      const request = isSmall ? chain.blocks(part) : chain.block(part[0]!).then((bytes) => [bytes]);
      request.catch(() => undefined); // told when it is awaited
      underWay.push(request);
    }
    for (const [position, bytes] of (await underWay.shift()!).entries())
      yield { hash: hashes[first + position]!, bytes };
  }
}
