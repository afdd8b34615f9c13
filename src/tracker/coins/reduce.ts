import { asBuffer, MADE, places, SCRIPT, SPENT, sortRecords } from './records.ts';

/** Changes by consecutive blocks, in order. @see records.ts */
export interface CoinChanges {
  /** MADE records. */
  readonly made: Buffer;
  /** SPENT records. */
  readonly spent: Buffer;
}

/** Reduced changes: without coins that the blocks both created and spent, each script once, all sorted by key. */
export interface ReducedChanges extends CoinChanges {
  /** SCRIPT records. */
  readonly scripts: Buffer;
}

/** Returns changes that came from another thread, where their records were Buffers. */
export function receivedChanges({
  made,
  spent,
  scripts
}: Readonly<Record<keyof ReducedChanges, Uint8Array>>): ReducedChanges {
  return { made: asBuffer(made), spent: asBuffer(spent), scripts: asBuffer(scripts) };
}

/** Reduces the changes of consecutive runs of blocks. Its results may be concatenated and reduced again. */
export function reduceChanges({ made, spent, scripts }: ReducedChanges): ReducedChanges {
  return { ...withoutPassing(sortRecords(MADE, made), sortRecords(SPENT, spent)), scripts: sumScripts(scripts) };
}

/** Returns a SCRIPT record for each output. */
export function scriptsOf(made: Buffer): Buffer {
  const scripts = Buffer.alloc((made.length / MADE.sizeBytes) * SCRIPT.sizeBytes);
  let to = 0;
  for (const at of places(MADE, made)) {
    made.copy(scripts, to, at + MADE.hashAt, at + MADE.valueAt);
    made.copy(scripts, to + SCRIPT.heightAt, at + MADE.heightAt, at + MADE.heightAt + 4);
    made.copy(scripts, to + SCRIPT.lowAt, at + MADE.valueAt, at + MADE.valueAt + 8);
    to += SCRIPT.sizeBytes;
  }
  return scripts;
}

/**
 * Removes coins together with the records that spend them. Both inputs must be sorted; the result reuses their memory.
 *
 * Two rewards of the early Bitcoin chain have the ids of older ones and replaced them. Of such a coin the last record
 * counts. None of them was spent.
 */
function withoutPassing(made: Buffer, spent: Buffer): CoinChanges {
  const [makes, spends] = [new Kept(made, MADE.sizeBytes), new Kept(spent, SPENT.sizeBytes)];
  for (let [m, s] = [0, 0]; m < made.length || s < spent.length; ) {
    const side = compareAt(made, m, spent, s);
    if (side < 0) {
      const next = m + MADE.sizeBytes;
      const isReplaced = next < made.length && made.compare(made, next, next + MADE.key, m, m + MADE.key) === 0;
      if (!isReplaced) makes.keep(m);
      m = next;
    } else if (side > 0) {
      spends.keep(s);
      s += SPENT.sizeBytes;
    } else {
      const isMadeFirst = made.readUInt32LE(m + MADE.heightAt) <= spent.readUInt32LE(s + SPENT.heightAt);
      if (!isMadeFirst) spends.keep(s);
      else m = skipMade(made, m, spent.readUInt32LE(s + SPENT.heightAt));
      s += SPENT.sizeBytes;
    }
  }
  return { made: makes.bytes, spent: spends.bytes };
}

/** Returns the offset behind the outputs of this outpoint that were created up to a height. */
function skipMade(made: Buffer, from: number, height: number): number {
  let at = from;
  do at += MADE.sizeBytes;
  while (
    at < made.length &&
    made.compare(made, at, at + MADE.key, from, from + MADE.key) === 0 &&
    made.readUInt32LE(at + MADE.heightAt) <= height
  );
  return at;
}

/** Compares the next record of each side; negative when the output comes first, positive when the spend does. */
function compareAt(made: Buffer, m: number, spent: Buffer, s: number): number {
  if (s >= spent.length) return -1;
  if (m >= made.length) return 1;
  return made.compare(spent, s, s + SPENT.key, m, m + MADE.key);
}

function sumScripts(scripts: Buffer): Buffer {
  const { key, sizeBytes, heightAt } = SCRIPT;
  const sorted = sortRecords(SCRIPT, scripts);
  const kept = new Kept(sorted, sizeBytes);
  for (let at = 0; at < sorted.length; ) {
    let end = at + sizeBytes;
    if (isSameKey(sorted, at, end, key)) {
      let first = sorted.readUInt32LE(at + heightAt);
      let sum = amountAt(sorted, at);
      for (; isSameKey(sorted, at, end, key); end += sizeBytes) {
        first = Math.min(first, sorted.readUInt32LE(end + heightAt));
        sum += amountAt(sorted, end);
      }
      sorted.writeUInt32LE(first, at + heightAt);
      sorted.writeBigUInt64LE(BigInt.asUintN(64, sum), at + SCRIPT.lowAt);
      sorted.writeBigUInt64LE(sum >> 64n, at + SCRIPT.highAt);
    }
    kept.keep(at);
    at = end;
  }
  return kept.bytes;
}

const isSameKey = (records: Buffer, a: number, b: number, key: number): boolean =>
  b < records.length && records.compare(records, b, b + key, a, a + key) === 0;

/** Returns the base units of a SCRIPT record. */
export function amountAt(scripts: Buffer, at: number): bigint {
  const low = scripts.readBigUInt64LE(at + SCRIPT.lowAt);
  const high = scripts.readUInt32LE(at + SCRIPT.highAt);
  return high === 0 ? low : (BigInt(high) << 64n) + low;
}

/** Compacts records within their own bytes. */
class Kept {
  readonly #records: Buffer;
  readonly #sizeBytes: number;
  #end = 0;

  constructor(records: Buffer, sizeBytes: number) {
    this.#records = records;
    this.#sizeBytes = sizeBytes;
  }

  /** Keeps a record. @param at its offset, not below that of the last kept one */
  keep(at: number): void {
    if (at !== this.#end) this.#records.copyWithin(this.#end, at, at + this.#sizeBytes);
    this.#end += this.#sizeBytes;
  }

  get bytes(): Buffer {
    return this.#records.subarray(0, this.#end);
  }
}
