import type { NodeRpcOptions } from '../../src/coin/node/node-rpc.ts';
import { fetchBlocks, withRawChain } from '../../src/follower/fetch-blocks.ts';
import type { BlockRange, ScannedRange } from '../../src/follower/range-feed.ts';
import { type BlockChanges, type BlockPlace, ChangesWriter } from '../../src/tracker/coins/changes.ts';

/** A range of blocks of one node. */
interface ScanCoinsInput {
  readonly node: NodeRpcOptions;
  readonly range: BlockRange;
  readonly rules: Pick<BlockPlace, 'isMergeMined' | 'coinbaseMaturity'>;
}

/** A range ends early when its blocks, or what they make and spend, are larger than its planner knew. */
const MAX_BYTES = 64 * 2 ** 20;

/** Fetches blocks of a coin node and reads which outputs they make and spend: one attempt, no retries. */
export default async function scanBlocks({ node, range, rules }: ScanCoinsInput): Promise<ScannedRange<BlockChanges>> {
  return await withRawChain(node, async (chain) => {
    const writer = new ChangesWriter();
    const found: ReturnType<ChangesWriter['addBlock']>[] = [];
    let sizeBytes = 0;
    for await (const { hash, bytes } of fetchBlocks(chain, range)) {
      found.push(writer.addBlock(bytes, { height: range.from + found.length, hash, ...rules }));
      sizeBytes += bytes.length;
      if (Math.max(sizeBytes, writer.sizeBytes) >= MAX_BYTES) break;
    }
    // Views on the same bytes: they are copied to the caller's thread once.
    const { made, spent } = writer.records;
    const blocks = found.map(({ madeEnd, spentEnd, ...block }, at) => ({
      ...block,
      made: made.subarray(found[at - 1]?.madeEnd ?? 0, madeEnd),
      spent: spent.subarray(found[at - 1]?.spentEnd ?? 0, spentEnd)
    }));
    return { blocks, sizeBytes };
  });
}
