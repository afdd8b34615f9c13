import { NodeRpc, type NodeRpcOptions } from '../coin/node/node-rpc.ts';
import { RawChain, type RestRoutes } from '../coin/node/raw-chain.ts';
import type { BlockRange } from './range-feed.ts';

/** Small blocks of one request. */
const PER_REQUEST = 16;
/** Requests that are under way while one is read. */
const AHEAD = 2;

/** Routes that nodes serve by HTTP GET, by URL. */
const routesOf = new Map<string, RestRoutes>();

/** Works with a node's chain as bytes, with one attempt at each call and no retries. */
export async function withRawChain<Result>(
  node: NodeRpcOptions,
  work: (chain: RawChain) => Promise<Result>
): Promise<Result> {
  const rpc = new NodeRpc({ ...node, retries: 0 });
  const routes = routesOf.get(node.url) ?? { blocks: true, spentOutputs: true };
  routesOf.set(node.url, routes);
  try {
    return await work(new RawChain(rpc, routes));
  } finally {
    await rpc.close();
  }
}

/** Block as the node has it. */
interface FetchedBlock {
  readonly hash: string;
  readonly bytes: Buffer;
}

/** Yields the blocks in order, and fetches ahead. */
export async function* fetchBlocks(
  chain: RawChain,
  { from, count, isSmall }: BlockRange
): AsyncGenerator<FetchedBlock> {
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

/** Yields the answer for each item, in the order of the items. The next items are requested while one is read. */
async function* inOrder<Item, Answer>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>
): AsyncGenerator<Answer> {
  const underWay: Promise<Answer>[] = [];
  for (const item of items) {
    const answer = ask(item);
    answer.catch(() => undefined); // rethrown when it is awaited
    underWay.push(answer);
    if (underWay.length === AHEAD) yield await underWay.shift()!;
  }
  for (const answer of underWay) yield await answer;
}
