import { fetchBlocks, withRawChain } from '../../src/chain/fetch-blocks.ts';
import type { BlockRange, ScannedRange } from '../../src/chain/range-feed.ts';
import type { NodeRpcOptions } from '../../src/coin/node/node-rpc.ts';
import { type BlockChanges, readChanges } from '../../src/tracker/changes.ts';

/** A range of blocks of one node. */
export interface ScanCoinsInput {
  readonly node: NodeRpcOptions;
  readonly range: BlockRange;
  readonly isMergeMined: boolean;
}

/** A range ends early when its blocks are larger than its planner knew. */
const MAX_BYTES = 32 * 2 ** 20;

/** Fetches blocks of a coin node and reads which outputs they make and spend: one attempt, no retries. */
export default async function scanBlocks({
  node,
  range,
  isMergeMined
}: ScanCoinsInput): Promise<ScannedRange<BlockChanges>> {
  return await withRawChain(node, async (chain) => {
    const blocks: BlockChanges[] = [];
    let sizeBytes = 0;
    for await (const { hash, bytes } of fetchBlocks(chain, range)) {
      blocks.push(readChanges(bytes, { height: range.from + blocks.length, hash, isMergeMined }));
      sizeBytes += bytes.length;
      if (sizeBytes >= MAX_BYTES) break;
    }
    return { blocks, sizeBytes };
  });
}
