import { HASH_BYTES, OUTPOINT_BYTES } from './records.ts';

/** Most bytes of one coin, without its script. */
export const COIN_JSON_BYTES = 420;
const DECIMALS = 8;
const FIRST_COINS = 32;
const GROWTH = 8;
/** Bytes by which a coin may exceed the mean of earlier ones. */
const SPARE_BYTES = 8;
/** Usual length of the text after the coins. */
const TAIL_BYTES = 1_024;
const [ZERO, POINT, COMMA] = [0x30, 0x2e, 0x2c];
const text = (value: string): Buffer => Buffer.from(value);
/** Text before each value of a coin. */
const BEFORE = {
  id: text('{"txid":"'),
  fullId: text('","fullTxid":"'),
  vout: text('","vout":'),
  value: text(',"value":"'),
  height: text('","height":'),
  coinbase: text(',"coinbase":true'),
  noCoinbase: text(',"coinbase":false'),
  confirmations: text(',"confirmations":'),
  amount: text(',"amount":"')
} as const;
const NO_HEIGHT = text('null');
const DIGITS = text('0123456789abcdef');

/** A range of bytes that holds decimal digits. */
export interface Digits {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
}

/**
 * Writes coins as the items of a JSON array, within other JSON.
 *
 * It avoids an object, a string and a BigInt for each coin, and calls that copy a few bytes each: for a page of 10,000
 * coins they cost several times as much as reading the coins from the database.
 */
export class CoinJson {
  readonly #script: Buffer;
  readonly #coinBytes: number;
  readonly #most: number;
  #bytes: Buffer<ArrayBuffer>;
  #end = 0;
  #count = 0;

  /**
   * @param head text before the coins
   * @param scriptHex the script of all coins
   * @param most the most coins
   */
  constructor(head: string, scriptHex: string, most: number) {
    this.#script = text(`","scriptPubKey":"${scriptHex}"}`);
    this.#coinBytes = COIN_JSON_BYTES + scriptHex.length;
    this.#most = most;
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(most, FIRST_COINS) * this.#coinBytes + head.length);
    this.#end = this.#bytes.write(head, 'latin1');
  }

  /** Appends text and returns everything written, in a buffer of its own. Call it once. */
  finish(tail: string): Buffer<ArrayBuffer> {
    const bytes = Buffer.byteLength(tail);
    if (this.#end + bytes > this.#bytes.length) this.#growTo(this.#end + bytes);
    return this.#bytes.subarray(0, this.#end + this.#bytes.write(tail, this.#end));
  }

  /**
   * Appends a coin.
   *
   * @param outpointAt offset of the outpoint in `value.bytes`
   * @param value base units
   * @param height null when no block has it
   * @param isCoinbase whether it is a block's reward
   */
  add(outpointAt: number, value: Digits, height: number | null, confirmations: number, isCoinbase = false): void {
    if (this.#end + this.#coinBytes > this.#bytes.length) this.#grow();
    const to = this.#bytes;
    const { bytes } = value;
    let end = this.#end;
    if (this.#count > 0) to[end++] = COMMA;
    end = copy(BEFORE.id, 0, BEFORE.id.length, to, end);
    end = writeId(bytes, outpointAt, to, end);
    const id = end - 2 * HASH_BYTES;
    end = copy(BEFORE.fullId, 0, BEFORE.fullId.length, to, end);
    end = copy(to, id, id + 2 * HASH_BYTES, to, end);
    end = copy(BEFORE.vout, 0, BEFORE.vout.length, to, end);
    end = writeNumber(bytes.readUInt32LE(outpointAt + HASH_BYTES), to, end);
    end = copy(BEFORE.value, 0, BEFORE.value.length, to, end);
    end = copy(bytes, value.from, value.to, to, end);
    end = copy(BEFORE.height, 0, BEFORE.height.length, to, end);
    end = height === null ? copy(NO_HEIGHT, 0, NO_HEIGHT.length, to, end) : writeNumber(height, to, end);
    const coinbase = isCoinbase ? BEFORE.coinbase : BEFORE.noCoinbase;
    end = copy(coinbase, 0, coinbase.length, to, end);
    end = copy(BEFORE.confirmations, 0, BEFORE.confirmations.length, to, end);
    end = writeNumber(confirmations, to, end);
    end = copy(BEFORE.amount, 0, BEFORE.amount.length, to, end);
    end = writeAmount(value, to, end);
    // A script may be long: one call is quicker than its bytes one by one.
    this.#end = end + this.#script.copy(to, end);
    this.#count++;
  }

  /**
   * Grows the buffer by the mean size of the coins so far: unused memory triggers garbage collection as much as used
   * memory.
   */
  #grow(): void {
    const coins = Math.max(Math.min(this.#most, GROWTH * this.#count), this.#count + 1);
    const eachBytes = Math.ceil(this.#end / this.#count) + SPARE_BYTES;
    this.#growTo(coins * eachBytes + this.#coinBytes + TAIL_BYTES);
  }

  #growTo(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(bytes);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

// Each of these returns the end of its text.

function copy(bytes: Buffer, from: number, until: number, to: Buffer, at: number): number {
  let end = at;
  for (let byte = from; byte < until; byte++) to[end++] = bytes[byte]!;
  return end;
}

/** Writes the id as nodes print it: last byte first. */
function writeId(bytes: Buffer, from: number, to: Buffer, at: number): number {
  let end = at;
  for (let byte = from + HASH_BYTES - 1; byte >= from; byte--) {
    to[end++] = DIGITS[bytes[byte]! >> 4]!;
    to[end++] = DIGITS[bytes[byte]! & 15]!;
  }
  return end;
}

function writeNumber(number: number, to: Buffer, at: number): number {
  let end = at + 1;
  for (let bound = 10; number >= bound; bound *= 10) end++;
  let left = number;
  for (let digit = end - 1; digit >= at; digit--) {
    const higher = Math.floor(left / 10);
    to[digit] = ZERO + left - 10 * higher;
    left = higher;
  }
  return end;
}

/** Writes an amount in coins with 8 decimals. */
function writeAmount({ bytes, from, to: until }: Digits, to: Buffer, at: number): number {
  const whole = until - from - DECIMALS;
  let end = at;
  if (whole > 0) end = copy(bytes, from, from + whole, to, end);
  else to[end++] = ZERO;
  to[end++] = POINT;
  for (let missing = whole; missing < 0; missing++) to[end++] = ZERO;
  return copy(bytes, Math.max(from, from + whole), until, to, end);
}

/** Returns an outpoint and a value in the form that `add` takes. */
export function coinBytes(outpoint: Buffer, value: bigint): Digits {
  const bytes = Buffer.concat([outpoint, Buffer.from(String(value))]);
  return { bytes, from: OUTPOINT_BYTES, to: bytes.length };
}
