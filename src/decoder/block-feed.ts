import { type BlockRows, readBlockRows } from '../coin/block-rows.ts';
import type { NodeChain } from '../coin/node-chain.ts';

/** Blocks that are fetched and read while an earlier one is being written. */
const BLOCKS_AHEAD = 6;

/** The next blocks of a chain as rows, fetched ahead within a bound. */
export class BlockFeed {
  readonly #chain: Pick<NodeChain, 'hashAt' | 'block' | 'output'>;
  readonly #magic: string;
  readonly #underWay = new Map<number, Promise<BlockRows>>();

  constructor(chain: Pick<NodeChain, 'hashAt' | 'block' | 'output'>, magic: string) {
    this.#chain = chain;
    this.#magic = magic;
  }

  /**
   * @param tip  nothing above it is fetched
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED; asking again fetches again
   */
  async take(height: number, tip: number, signal: AbortSignal): Promise<BlockRows> {
    for (let ahead = height; ahead <= Math.min(tip, height + BLOCKS_AHEAD); ahead++) {
      if (this.#underWay.has(ahead)) continue;
      const reading = this.#read(ahead, signal);
      reading.catch(() => {
        if (this.#underWay.get(ahead) === reading) this.#underWay.delete(ahead); // whoever takes it learns why
      });
      this.#underWay.set(ahead, reading);
    }
    try {
      return await this.#underWay.get(height)!;
    } finally {
      this.#underWay.delete(height);
    }
  }

  /** Forgets what was fetched: it belongs to a branch that was left. */
  clear(): void {
    this.#underWay.clear();
  }

  async #read(height: number, signal: AbortSignal): Promise<BlockRows> {
    const block = await this.#chain.block(await this.#chain.hashAt(height, signal), signal);
    return await readBlockRows(block, (txid, vout) => this.#chain.output(txid, vout, signal), this.#magic);
  }
}
