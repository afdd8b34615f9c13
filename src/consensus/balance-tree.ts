import type { LeafChange } from './balance-leaf.ts';
import { type CommitmentHashes, HASH_BYTES, type RawHash, TREE_DEPTH } from './commitment-hashes.ts';

/**
 * Offsets in a record of one leaf: path, value leaf, then the hash of the largest subtree in which the leaf is alone
 * and, as one byte, the depth of that subtree (0: not computed).
 */
const VALUE_AT = HASH_BYTES;
const TOP_AT = 2 * HASH_BYTES;
const DEPTH_AT = 3 * HASH_BYTES;
const RECORD_BYTES = DEPTH_AT + 1;

/** Average number of leaves of a bucket. Above the second figure the number of buckets is multiplied by four. */
const BUCKET_LEAVES = 64;
const BUCKET_LEAVES_MAX = 128;
const MIN_BITS = 2;
const MAX_BITS = 22;
/**
 * Bits of a bucket's part: each bucket has four parts, whose hashes are kept. For a changed leaf one part is computed,
 * not the bucket.
 */
const PART_BITS = 2;
const NO_LEAVES = Buffer.allocUnsafeSlow(0);
/**
 * Records for which a bucket has room beyond those it was made for. A first tree comes leaf by leaf, each into any
 * bucket.
 */
const SPARE_RECORDS = 3;

/** Buckets with their leaves, in the form that goes to another thread and comes back with the tops computed. */
export interface BucketBatch {
  readonly domain: string;
  readonly bits: number;
  /** Number of leaves of each bucket. */
  readonly counts: Uint32Array;
  /** Records of the leaves, bucket by bucket. */
  readonly records: Uint8Array;
}

/**
 * Sparse Merkle tree of depth 256, collapsed: of a subtree with one leaf only the hash is kept.
 *
 * The first bits of the paths divide the leaves into buckets, sorted runs of 97 bytes a leaf, and two more bits divide
 * a bucket into parts. The levels above the parts are kept as hashes; those within a part are computed when it changes.
 * A changed leaf takes about 270 hashes, of which the 236 below the level where it is alone depend on its value. With a
 * million leaves the tree takes about 100 bytes a leaf.
 */
export class BalanceTree {
  readonly #hashes: CommitmentHashes;
  #bits: number;
  #buckets: Buffer[];
  /**
   * Hashes as a heap: node 1 is the root, the children of n are 2n and 2n + 1, the last level are the parts of buckets.
   */
  #upper: Buffer;
  #size = 0;

  /** @param expected number of leaves that are about to come; the tree grows with more */
  constructor(hashes: CommitmentHashes, expected = 0) {
    this.#hashes = hashes;
    this.#bits = Math.min(MAX_BITS, Math.max(MIN_BITS, Math.ceil(Math.log2(Math.max(1, expected) / BUCKET_LEAVES))));
    this.#buckets = emptyBuckets(this.#bits);
    this.#upper = this.#emptyUpper();
  }

  /** Number of leaves. */
  get size(): number {
    return this.#size;
  }

  get root(): RawHash {
    return this.#upperAt(1);
  }

  /** Makes the changes, in order. @returns the changes that undo them, in the order in which to make those */
  apply(changes: readonly LeafChange[]): LeafChange[] {
    const touched = new Set<number>();
    const inverse: LeafChange[] = [];
    for (const { path, value } of changes) {
      const part = this.#partOf(path);
      inverse.push({ path, value: this.#set(part >> PART_BITS, path, value) });
      touched.add(part);
    }
    if (this.#size > BUCKET_LEAVES_MAX << this.#bits && this.#bits < MAX_BITS) this.#grow();
    else this.#refresh(touched);
    return inverse.reverse();
  }

  /** Adds leaves without any hashing. `root` is wrong until every bucket went through `finish`. */
  load(leaves: readonly LeafChange[]): void {
    for (const { path, value } of leaves) this.#set(this.#partOf(path) >> PART_BITS, path, value);
  }

  /** Yields the buckets in batches, for `computeTops`. */
  *batches(leaves: number): Generator<{ readonly from: number; readonly batch: BucketBatch }> {
    for (let from = 0, to = 0; from < this.#buckets.length; from = to) {
      for (let count = 0; to < this.#buckets.length && count < leaves; to++) count += leavesIn(this.#buckets[to]!);
      const buckets = this.#buckets.slice(from, to);
      const counts = Uint32Array.from(buckets, leavesIn);
      const batch = { domain: this.#hashes.domain, bits: this.#bits, counts, records: join(buckets) };
      yield { from, batch };
    }
  }

  /**
   * Takes back a batch whose tops are computed. Its buckets must not have changed. @param from index of its first
   * bucket
   */
  finish(from: number, { counts, records }: BucketBatch): void {
    let offset = 0;
    for (const [index, count] of counts.entries()) {
      const end = offset + count * RECORD_BYTES;
      this.#buckets[from + index]!.set(records.subarray(offset, end));
      offset = end;
    }
    this.#refresh(partsOf(from, from + counts.length));
  }

  #partOf(path: RawHash): number {
    const head = (path.charCodeAt(0) << 16) | (path.charCodeAt(1) << 8) | path.charCodeAt(2);
    return head >> (24 - this.#bits - PART_BITS);
  }

  /** Sets or removes one leaf. @returns the value before */
  #set(index: number, path: RawHash, value: RawHash | null): RawHash | null {
    const bucket = this.#buckets[index]!;
    const [at, isThere] = find(bucket, path);
    const before = isThere ? bucket.toString('latin1', at + VALUE_AT, at + TOP_AT) : null;
    if (value === null) {
      if (isThere) this.#buckets[index] = join([bucket.subarray(0, at), bucket.subarray(at + RECORD_BYTES)]);
    } else {
      const room = isThere ? bucket : withRoomAt(bucket, at);
      room.write(path, at, 'latin1');
      room.write(value, at + VALUE_AT, 'latin1');
      room[at + DEPTH_AT] = 0;
      this.#buckets[index] = room;
    }
    this.#size += Number(value !== null) - Number(before !== null);
    return before;
  }

  /** Computes the hashes of some parts of buckets and of everything above them. */
  #refresh(touched: Iterable<number>): void {
    let level = new Set<number>();
    const depth = this.#bits + PART_BITS;
    for (const part of touched) {
      const node = (1 << depth) + part;
      this.#upper.write(
        partRoot(this.#hashes, this.#buckets[part >> PART_BITS]!, part, depth),
        node * HASH_BYTES,
        'latin1'
      );
      level.add(node >> 1);
    }
    for (let left = depth; left > 0; left--) {
      const parents = new Set<number>();
      for (const node of level) {
        const hash = this.#hashes.node(this.#upperAt(2 * node), this.#upperAt(2 * node + 1));
        this.#upper.write(hash, node * HASH_BYTES, 'latin1');
        parents.add(node >> 1);
      }
      level = parents;
    }
  }

  #grow(): void {
    const old = this.#buckets;
    this.#bits = Math.min(MAX_BITS, this.#bits + 2);
    this.#buckets = emptyBuckets(this.#bits);
    this.#upper = this.#emptyUpper();
    for (const bucket of old) {
      for (let at = 0, end = 0; at < bucket.length; at = end) {
        const indexAt = (offset: number) => this.#partOf(bucket.toString('latin1', offset, offset + 3)) >> PART_BITS;
        const index = indexAt(at);
        while (end < bucket.length && indexAt(end) === index) end += RECORD_BYTES;
        this.#buckets[index] = join([bucket.subarray(at, end)]);
      }
    }
    this.#refresh(partsOf(0, this.#buckets.length));
  }

  #upperAt(node: number): RawHash {
    return this.#upper.toString('latin1', node * HASH_BYTES, (node + 1) * HASH_BYTES);
  }

  #emptyUpper(): Buffer {
    const depths = this.#bits + PART_BITS;
    const upper = Buffer.alloc((2 << depths) * HASH_BYTES);
    for (let depth = 0; depth <= depths; depth++) {
      const hash = Buffer.from(this.#hashes.empty[TREE_DEPTH - depth]!, 'latin1');
      upper.fill(hash, HASH_BYTES << depth, HASH_BYTES << (depth + 1));
    }
    return upper;
  }
}

/**
 * Computes, in place, the hash of the largest subtree in which each leaf is alone. That is most of the work of a first
 * tree.
 */
export function computeTops(hashes: CommitmentHashes, { bits, counts, records }: BucketBatch): void {
  const all = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  let offset = 0;
  for (const count of counts) {
    const end = offset + count * RECORD_BYTES;
    const bucket = all.subarray(offset, end);
    for (let part = 0; part < 1 << PART_BITS; part++) partRoot(hashes, bucket, part, bits + PART_BITS);
    offset = end;
  }
}

/**
 * Returns the hash of a part of a bucket, and writes tops that are not known yet into the bucket. @param depth depth of
 * the part
 */
function partRoot(hashes: CommitmentHashes, bucket: Buffer, part: number, depth: number): RawHash {
  const subtree = (low: number, high: number, at: number): RawHash => {
    if (low === high) return hashes.empty[TREE_DEPTH - at]!;
    if (high - low === RECORD_BYTES) return topOf(hashes, bucket, low, at);
    const middle = ones(bucket, low, high, at);
    return hashes.node(subtree(low, middle, at + 1), subtree(middle, high, at + 1));
  };
  let [low, high] = [0, bucket.length];
  for (let bit = PART_BITS - 1; bit >= 0; bit--) {
    const middle = ones(bucket, low, high, depth - 1 - bit);
    if ((part >> bit) & 1) low = middle;
    else high = middle;
  }
  return subtree(low, high, depth);
}

/** Returns the index of the first record from `low` on whose path has a 1 at a depth. Those before it must have a 0. */
function ones(bucket: Buffer, low: number, high: number, depth: number): number {
  let at = low;
  while (at < high && ((bucket[at + (depth >> 3)]! >> (7 - (depth & 7))) & 1) === 0) at += RECORD_BYTES;
  return at;
}

function topOf(hashes: CommitmentHashes, bucket: Buffer, at: number, depth: number): RawHash {
  if (bucket[at + DEPTH_AT] === depth) return bucket.toString('latin1', at + TOP_AT, at + DEPTH_AT);
  const top = hashes.climb(bucket, at, bucket.toString('latin1', at + VALUE_AT, at + TOP_AT), depth);
  bucket.write(top, at + TOP_AT, 'latin1');
  bucket[at + DEPTH_AT] = depth; // 256 becomes 0, not computed: at that depth the hash saves no work
  return top;
}

/** Returns the index at which a path is, or would be inserted. */
function find(bucket: Buffer, path: RawHash): readonly [at: number, isThere: boolean] {
  const wanted = Buffer.from(path, 'latin1');
  let [low, high] = [0, leavesIn(bucket)];
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = middle * RECORD_BYTES;
    const order = bucket.compare(wanted, 0, HASH_BYTES, at, at + HASH_BYTES);
    if (order === 0) return [at, true];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return [low * RECORD_BYTES, false];
}

/** Returns a bucket with room for one more record, which is not cleared. The given bucket may be changed. */
function withRoomAt(bucket: Buffer, at: number): Buffer {
  const length = bucket.length + RECORD_BYTES;
  const isWideEnough = bucket.buffer.byteLength >= length;
  const wider = isWideEnough ? bucket : Buffer.allocUnsafeSlow(length + SPARE_RECORDS * RECORD_BYTES);
  const room = Buffer.from(wider.buffer, 0, length);
  if (!isWideEnough) bucket.copy(room, 0, 0, at);
  bucket.copy(room, at + RECORD_BYTES, at);
  return room;
}

function leavesIn(bucket: Uint8Array): number {
  return bucket.length / RECORD_BYTES;
}

/** Joins parts in memory of its own: a slice of the pool that Buffers share would keep the whole pool. */
function join(parts: readonly Uint8Array[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Yields all parts of the buckets from one to another, exclusive. */
function* partsOf(from: number, to: number): Generator<number> {
  for (let part = from << PART_BITS; part < to << PART_BITS; part++) yield part;
}

function emptyBuckets(bits: number): Buffer[] {
  return new Array<Buffer>(1 << bits).fill(NO_LEAVES);
}
