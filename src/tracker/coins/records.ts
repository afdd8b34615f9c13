/** Bytes of an outpoint: a transaction id in internal byte order, and a position, little-endian. */
export const OUTPOINT_BYTES = 36;
/** Bytes of a SHA-256 hash. */
export const HASH_BYTES = 32;

/**
 * An output that a block created, as bytes: outpoint, SHA-256 of its script, base units, height of the block, blocks
 * after which it may be spent. Numbers are little-endian.
 *
 * Records handle millions of coins without an object for each.
 */
export const MADE = {
  key: OUTPOINT_BYTES,
  hashAt: 36,
  valueAt: 68,
  heightAt: 76,
  maturityAt: 80,
  sizeBytes: 81
} as const;
/** An outpoint that a block spent: outpoint, height of the block. */
export const SPENT = { key: OUTPOINT_BYTES, heightAt: 36, sizeBytes: 40 } as const;
/**
 * Total that blocks paid to a script: SHA-256 of the script, height of the first block, sum of base units in 16 bytes.
 */
export const SCRIPT = { key: HASH_BYTES, heightAt: 32, lowAt: 36, highAt: 44, sizeBytes: 52 } as const;

/** Returns a Buffer view of bytes that came from another thread, where they were a Buffer. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The layout of a record. Its key stands first. */
export interface RecordKind {
  readonly key: number;
  readonly sizeBytes: number;
}

/** Yields the offsets of the records. */
export function* places({ sizeBytes }: RecordKind, records: Buffer): Generator<number> {
  for (let at = 0; at < records.length; at += sizeBytes) yield at;
}

/** Returns a copy of the records, sorted by key. Records of one key keep their order. */
export function sortRecords({ key, sizeBytes }: RecordKind, records: Buffer): Buffer {
  const order = sortedPlaces({ key, sizeBytes }, records);
  const sorted = Buffer.allocUnsafeSlow(records.length);
  for (let index = 0; index < order.length; index++) {
    const from = order[index]! * sizeBytes;
    records.copy(sorted, index * sizeBytes, from, from + sizeBytes);
  }
  return sorted;
}

/**
 * Returns the positions of the records in sorted order. Keys are hashes: their first bytes almost always decide, and
 * numbers sort without a call for each pair.
 */
function sortedPlaces({ key, sizeBytes }: RecordKind, records: Buffer): Uint32Array {
  const count = records.length / sizeBytes;
  const span = 2 ** Math.ceil(Math.log2(count + 1));
  const prefixBits = Math.min(32, 53 - Math.log2(span));
  const prefixes = new Float64Array(count);
  for (let index = 0; index < count; index++)
    prefixes[index] = (records.readUInt32BE(index * sizeBytes) >>> (32 - prefixBits)) * span + index;
  prefixes.sort();
  const order = new Uint32Array(count);
  for (let index = 0; index < count; index++) order[index] = prefixes[index]! % span;
  const compare = (a: number, b: number): number => {
    const [from, to] = [a * sizeBytes, b * sizeBytes];
    return records.compare(records, to, to + key, from, from + key) || a - b;
  };
  for (let first = 0; first < count; ) {
    const prefix = Math.floor(prefixes[first]! / span);
    let end = first + 1;
    while (end < count && Math.floor(prefixes[end]! / span) === prefix) end++;
    if (end - first > 1) order.subarray(first, end).sort(compare);
    first = end;
  }
  return order;
}
