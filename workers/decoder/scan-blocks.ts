import { LRUCache } from 'lru-cache';
import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node-rpc.ts';
import { RawChain, type RestRoutes } from '../../src/coin/raw-chain.ts';
import type { BlockRange, ScannedRange } from '../../src/decoder/block-feed.ts';
import { type Candidate, type ScannedBlock, type ScanRules, scanBlock } from '../../src/decoder/block-scan.ts';
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
const PER_REQUEST = 16;
/** Requests that are under way while one is read. */
const AHEAD = 2;

/** An action is often paid from the change of the one before, or from an output of a transaction that paid others. */
const known = new LRUCache<string, Buffer>({ maxSize: 16 * 2 ** 20, sizeCalculation: ({ length }) => length });

/** What nodes serve by HTTP GET, by URL. */
const routesOf = new Map<string, RestRoutes>();

/** Fetches blocks of a coin node and reads what a decoder database holds of them: one attempt, no retries. */
export default async function scanBlocks({ node, range, rules }: ScanBlocksInput): Promise<ScannedRange> {
  const rpc = new NodeRpc({ ...node, retries: 0 });
  try {
    const routes = routesOf.get(node.url) ?? { blocks: true, spentOutputs: true };
    routesOf.set(node.url, routes);
    const chain = new RawChain(rpc, routes);
    const { blocks, sizeBytes } = await scanRange(chain, range, rules);
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

/** A block as the node has it. */
interface FetchedBlock {
  readonly hash: string;
  readonly bytes: Buffer;
}

/** The blocks in order, fetched ahead. */
async function* fetchBlocks(chain: RawChain, { from, count, isSmall }: BlockRange): AsyncGenerator<FetchedBlock> {
  const hashes = await chain.hashes(from, count);
  if (!isSmall) return yield* fetchLarge(chain, hashes);
  const parts = Array.from({ length: Math.ceil(count / PER_REQUEST) }, (_, index) =>
    hashes.slice(index * PER_REQUEST, (index + 1) * PER_REQUEST)
  );
  let done = 0;
  for await (const blocks of inOrder(parts, (part) => chain.smallBlocks(part))) {
    if (blocks === null) return yield* fetchLarge(chain, hashes.slice(done));
    for (const bytes of blocks) yield { hash: hashes[done++]!, bytes };
  }
}

async function* fetchLarge(chain: RawChain, hashes: readonly string[]): AsyncGenerator<FetchedBlock> {
  yield* inOrder(hashes, async (hash) => ({ hash, bytes: await chain.block(hash) }));
}

/** What is asked for each item, in their order; the next are asked for while one is read. */
async function* inOrder<Item, Answer>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>
): AsyncGenerator<Answer> {
  const underWay: Promise<Answer>[] = [];
  for (const item of items) {
    const answer = ask(item);
    answer.catch(() => undefined); // told when it is awaited
    underWay.push(answer);
    if (underWay.length === AHEAD) yield await underWay.shift()!;
  }
  for (const answer of underWay) yield await answer;
}
