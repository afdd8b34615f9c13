import { LRUCache } from 'lru-cache';
import type { NodeRpcOptions } from '../../src/coin/node/node-rpc.ts';
import type { RawChain } from '../../src/coin/node/raw-chain.ts';
import { SortedMarks } from '../../src/coin/script/sorted-marks.ts';
import type { MarkedBlock, WatchedRange } from '../../src/decoder/block-feed.ts';
import { type Candidate, type ScannedBlock, type ScanRules, scanBlock } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';
import { fetchBlocks, withRawChain } from '../../src/follower/fetch-blocks.ts';
import type { ScannedRange } from '../../src/follower/range-feed.ts';

/** A range of blocks of one node, and how to read them. */
interface ScanBlocksInput {
  readonly node: NodeRpcOptions;
  readonly range: WatchedRange;
  readonly rules: ScanRules;
}

/** A range ends early when its blocks are larger than its planner knew. */
const MAX_BYTES = 32 * 2 ** 20;

/** An action is often paid from the change of the one before, or from an output of a transaction that paid others. */
const known = new LRUCache<string, Buffer>({ maxSize: 16 * 2 ** 20, sizeCalculation: ({ length }) => length });

/** Fetches blocks of a coin node and reads what a decoder database holds of them: one attempt, no retries. */
export default async function scanBlocks({ node, range, rules }: ScanBlocksInput): Promise<ScannedRange<MarkedBlock>> {
  return await withRawChain(node, async (chain) => {
    const { blocks, sizeBytes } = await scanRange(chain, range, rules);
    return { blocks: await resolveSources(blocks, (txids) => chain.transactions(txids), known, rules), sizeBytes };
  });
}

async function scanRange(chain: RawChain, range: WatchedRange, rules: ScanRules) {
  const blocks: ScannedBlock[] = [];
  const wanted = new SortedMarks(range.wanted);
  let sizeBytes = 0;
  for await (const { hash, bytes } of fetchBlocks(chain, range)) {
    const block = scanBlock(bytes, { height: range.from + blocks.length, hash }, rules, wanted);
    blocks.push({ ...block, candidates: await withSpentScripts(chain, block) });
    sizeBytes += bytes.length;
    if (sizeBytes >= MAX_BYTES) break;
  }
  return { blocks, sizeBytes };
}

/** Candidates with the scripts that they spend, where the node serves those and their transactions were not read lately. */
async function withSpentScripts(chain: RawChain, { hash, candidates }: ScannedBlock): Promise<readonly Candidate[]> {
  const unknown = candidates.filter(({ spends }) => !known.has(spends.txid));
  if (unknown.length === 0) return candidates;
  const scripts = await chain.spentScripts(hash, new Set(unknown.map(({ position }) => position)));
  if (scripts === null) return candidates;
  return candidates.map((candidate) => ({ ...candidate, spentScript: scripts.get(candidate.position) ?? null }));
}
