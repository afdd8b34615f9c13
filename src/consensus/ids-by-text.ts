import { sha256 } from './commitment-hashes.ts';

/** Ids by texts, for whoever looks one up. */
export type KnownIds = Pick<ReadonlyMap<string, number>, 'get' | 'has' | 'size'>;

/** Words of a digest. Nobody finds two texts with one digest of 160 bits. */
const DIGEST_WORDS = 5;
/** Words of a slot: a digest, and the id behind it, which is 0 in an empty slot. */
const SLOT_WORDS = DIGEST_WORDS + 1;
const WORD_BYTES = 4;
const FEWEST_SLOTS = 1_024;
/** Part of the slots that may be full, so that a search ends soon. */
const MOST_FULL = 2 / 3;
/** Texts that are remembered as they are. */
const MOST_RECENT = 10_000;
const HIGHEST_ID = 2 ** 32 - 1;

/**
 * Ids of texts, such as the tickers of all tokens by `tickKey`, outside the heap: up to 72 bytes each, however long the text.
 *
 * Anybody may issue a token with 16 bytes of a BATCH. A `Map` takes no more than 2^24 keys, and throws.
 */
export class IdsByText implements KnownIds {
  #slots = new Uint32Array(FEWEST_SLOTS * SLOT_WORDS);
  #size = 0;
  /** Ids of those that were asked for lately, 0 for none: a block asks for each of its tokens several times. */
  readonly #recent = new Map<string, number>();

  get size(): number {
    return this.#size;
  }

  get(key: string): number | undefined {
    const id = this.#recent.get(key) ?? this.#slots[this.#find(digestOf(key)) + DIGEST_WORDS]!;
    this.#note(key, id);
    return id === 0 ? undefined : id;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** @throws {RangeError} for an id that is no whole number from 1 to 2^32 - 1 */
  set(key: string, id: number): void {
    if (!Number.isInteger(id) || id < 1 || id > HIGHEST_ID) throw new RangeError(`${id} is no id of a text`);
    if (this.#recent.get(key) === id) return;
    this.#note(key, id);
    if (this.#size + 1 > (MOST_FULL * this.#slots.length) / SLOT_WORDS) this.#grow();
    this.#put(digestOf(key), id);
  }

  #note(key: string, id: number): void {
    if (this.#recent.size >= MOST_RECENT) this.#recent.clear();
    this.#recent.set(key, id);
  }

  /** Returns the place of the slot with a digest, or of the empty slot in which a search for it ends. */
  #find(digest: Uint32Array): number {
    const mask = this.#slots.length / SLOT_WORDS - 1;
    for (let slot = digest[0]! & mask; ; slot = (slot + 1) & mask) {
      const at = slot * SLOT_WORDS;
      if (this.#slots[at + DIGEST_WORDS] === 0 || this.#isAt(at, digest)) return at;
    }
  }

  #isAt(at: number, digest: Uint32Array): boolean {
    for (let word = 0; word < DIGEST_WORDS; word++) if (this.#slots[at + word] !== digest[word]) return false;
    return true;
  }

  #put(digest: Uint32Array, id: number): void {
    const at = this.#find(digest);
    if (this.#slots[at + DIGEST_WORDS] === 0) this.#size += 1;
    this.#slots.set(digest, at);
    this.#slots[at + DIGEST_WORDS] = id;
  }

  #grow(): void {
    const former = this.#slots;
    this.#slots = new Uint32Array(2 * former.length);
    this.#size = 0;
    for (let at = 0; at < former.length; at += SLOT_WORDS) {
      const id = former[at + DIGEST_WORDS]!;
      if (id > 0) this.#put(former.subarray(at, at + DIGEST_WORDS), id);
    }
  }
}

function digestOf(key: string): Uint32Array {
  const bytes = Buffer.from(sha256(key), 'latin1');
  const digest = new Uint32Array(DIGEST_WORDS);
  for (let word = 0; word < DIGEST_WORDS; word++) digest[word] = bytes.readUInt32LE(word * WORD_BYTES);
  return digest;
}
