/** The part of a message that tells where a subscriber stands. */
export interface HeardMessage {
  readonly type: string;
  readonly block_index?: number;
  readonly block_height?: number | null;
  readonly block_hash?: string;
}

/**
 * The chain of blocks that one subscriber was sent, over all its connections.
 *
 * Each block must follow the one before, or a reorg must have taken back what it replaces. Only a connection that did not name a block
 * may begin elsewhere, as it does after a close with `take a snapshot`.
 */
export class SubscriberRecord {
  /** Faults of what was sent, in words. */
  readonly violations: string[] = [];
  /** Blocks that were sent. */
  received = 0;
  /** Times at which the chain began elsewhere, because the subscriber was told to take a snapshot. */
  snapshots = 0;
  readonly #name: string;
  readonly #hashes = new Map<number, string>();
  #top: number | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  /** The highest block and its hash, as a subscription names them; null before the first one. */
  get position(): { readonly height: number; readonly hash: string } | null {
    const hash = this.#top === null ? undefined : this.#hashes.get(this.#top);
    return hash === undefined ? null : { height: this.#top!, hash };
  }

  /** Forgets where it stands: the next block may be any. */
  leave(): void {
    if (this.#top === null) return;
    this.snapshots += 1;
    this.#top = null;
  }

  take({ type, block_index: height, block_hash: hash }: HeardMessage): void {
    if (height === undefined) return;
    if (type === 'reorg') this.#takeBack(height);
    else if (type === 'block') this.#add(height, hash ?? '');
  }

  /** Compares what it was sent with the blocks of the source. @param source hash of each block, by height */
  compare(source: ReadonlyMap<number, string>): void {
    const tip = Math.max(...source.keys());
    if (this.#top !== tip) this.violations.push(`${this.#name} ends at ${this.#top}, and the source at ${tip}`);
    for (const [height, hash] of this.#hashes)
      if (source.get(height) !== hash) this.violations.push(`${this.#name} has another block ${height}: ${hash}`);
  }

  #takeBack(height: number): void {
    if (this.#top !== null && height > this.#top + 1)
      this.violations.push(`${this.#name}: a reorg at ${height}, above the last block ${this.#top}`);
    for (const known of [...this.#hashes.keys()]) if (known >= height) this.#hashes.delete(known);
    if (this.#top !== null) this.#top = Math.min(this.#top, height - 1);
  }

  #add(height: number, hash: string): void {
    this.received += 1;
    if (this.#top !== null && height !== this.#top + 1) {
      const what = height <= this.#top ? 'came again' : 'left some out';
      this.violations.push(`${this.#name}: block ${height} came where ${this.#top + 1} was due: it ${what}`);
    }
    // What a snapshot has replaced without a word may be on another branch.
    if (this.#top === null) this.#hashes.clear();
    this.#hashes.set(height, hash);
    this.#top = height;
  }
}
