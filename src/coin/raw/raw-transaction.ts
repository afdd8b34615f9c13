import { OP_CHECKMULTISIG, OP_RETURN } from '../script/script.ts';
import type { ScriptMarks } from '../script/script-marks.ts';
import { ByteCursor } from './byte-cursor.ts';
import { hashTwice, printId } from './hash-id.ts';

/** Bits of the flag byte after the marker. */
const WITNESSES = 1;
const EXTENSION = 8;
/** Blocks until a coin from Litecoin's extension block may be spent. @see PEGOUT_MATURITY of Litecoin Core */
export const EXTENSION_MATURITY = 6;
/** First byte of the script that holds a block's coins in the extension block. */
const OP_8 = 0x58;

const ID_BYTES = 32;
/** Bytes of an outpoint: id and position. */
const OUTPOINT_BYTES = 36;
const LEAST_INPUT_BYTES = OUTPOINT_BYTES + 1 + 4;
const LEAST_OUTPUT_BYTES = 8 + 1;
const LOCK_TIME_BYTES = 4;

/** An input without sequence and witness. */
export interface RawInput {
  /** Id of the transaction that it spends from. */
  readonly txid: string;
  readonly vout: number;
  readonly script: Buffer;
}

/** An output. */
export interface RawOutput {
  /** Base units. */
  readonly amount: bigint;
  readonly script: Buffer;
}

/**
 * One transaction as offsets into bytes: reading it creates no object. One instance reads all transactions of a block
 * in turn.
 *
 * The getters create objects and are meant for the few transactions that matter. Buffers that they return are views.
 *
 * @see BIP 144 for witnesses, LIP 3 for the extension block
 */
export class RawTransaction {
  readonly #cursor: ByteCursor;
  #start = 0;
  #flags = 0;
  /** Offset of the number of inputs. */
  #inputsAt = 0;
  #firstInputAt = 0;
  #outputsAt = 0;
  #witnessesAt = 0;
  #end = 0;
  #inputCount = 0;
  #mayCarryData = false;

  constructor(cursor: ByteCursor) {
    this.#cursor = cursor;
  }

  /**
   * Reads the transaction at the cursor.
   *
   * @param isAlone whether the bytes hold nothing else, so that an extension of unknown form can be skipped
   * @throws {RangeError} when it is malformed
   */
  read(isAlone = false): void {
    const cursor = this.#cursor;
    this.#start = cursor.offset;
    cursor.skip(4); // version
    this.#readFlags();
    this.#inputsAt = cursor.offset;
    this.#skipInputs();
    this.#outputsAt = cursor.offset;
    this.#skipOutputs();
    this.#witnessesAt = cursor.offset;
    if (this.#flags & WITNESSES) this.#skipWitnesses();
    if (this.#flags & EXTENSION) this.#skipExtension(isAlone);
    cursor.skip(LOCK_TIME_BYTES);
    this.#end = cursor.offset;
  }

  /** Whether an output's script may carry data. */
  get mayCarryData(): boolean {
    return this.#mayCarryData;
  }

  /** Whether it moves coins between a block and its extension block. Such a transaction is the last of its block. */
  get hasExtension(): boolean {
    return (this.#flags & EXTENSION) !== 0;
  }

  /** Whether a block pays out of its extension block by it. Its first output holds the coins that stay there. */
  get isPayout(): boolean {
    return this.hasExtension && this.output(0)?.script[0] === OP_8;
  }

  /**
   * Whether it spends no existing output: it creates the block's reward, or its coins come from the extension block.
   */
  get isWithoutSource(): boolean {
    const { bytes } = this.#cursor;
    if (this.#inputCount === 0) return true;
    for (let at = this.#firstInputAt; at < this.#firstInputAt + ID_BYTES; at++) if (bytes[at] !== 0) return false;
    return true;
  }

  /** Id of the transaction: hash of `baseBytes`, as nodes print it. */
  get txid(): string {
    return printId(this.idBytes);
  }

  /** Id of the transaction as 32 bytes in internal order. */
  get idBytes(): Buffer {
    return hashTwice(this.baseBytes);
  }

  /** The transaction without witnesses and extension; its id is the hash of this. May be a view. */
  get baseBytes(): Buffer {
    const { bytes } = this.#cursor;
    if (this.#flags === 0) return bytes.subarray(this.#start, this.#end);
    const version = bytes.subarray(this.#start, this.#start + 4);
    const body = bytes.subarray(this.#inputsAt, this.#witnessesAt);
    return Buffer.concat([version, body, bytes.subarray(this.#end - LOCK_TIME_BYTES, this.#end)]);
  }

  /** Inputs in their order. */
  get inputs(): readonly RawInput[] {
    const cursor = this.#cursorAt(this.#inputsAt);
    return Array.from({ length: cursor.varInt() }, () => {
      const input = {
        txid: printId(cursor.take(ID_BYTES)),
        vout: cursor.uint32(),
        script: cursor.take(cursor.varInt())
      };
      cursor.skip(4); // sequence
      return input;
    });
  }

  /** Sequence of each input. */
  get sequences(): readonly number[] {
    const cursor = this.#cursorAt(this.#inputsAt);
    return Array.from({ length: cursor.varInt() }, () => {
      cursor.skip(OUTPOINT_BYTES);
      cursor.skip(cursor.varInt());
      return cursor.uint32();
    });
  }

  /** Outputs in their order. */
  get outputs(): readonly RawOutput[] {
    const cursor = this.#cursorAt(this.#outputsAt);
    return Array.from({ length: cursor.varInt() }, () => ({
      amount: cursor.uint64(),
      script: cursor.take(cursor.varInt())
    }));
  }

  /** Outpoint of each input as a view: 36 bytes, the id of a transaction and a position in it. */
  get outpoints(): readonly Buffer[] {
    const cursor = this.#cursorAt(this.#inputsAt);
    return Array.from({ length: cursor.varInt() }, () => {
      const outpoint = cursor.take(OUTPOINT_BYTES);
      cursor.skip(cursor.varInt());
      cursor.skip(4); // sequence
      return outpoint;
    });
  }

  /** Calls `visit` with the offset of each input's outpoint, 36 bytes, in order. */
  visitOutpoints(visit: (bytes: Buffer, at: number) => void): void {
    const cursor = this.#cursor;
    cursor.offset = this.#inputsAt;
    for (let left = cursor.varInt(); left > 0; left--) {
      visit(cursor.bytes, cursor.offset);
      cursor.skip(OUTPOINT_BYTES);
      cursor.skip(cursor.varInt());
      cursor.skip(4); // sequence
    }
    cursor.offset = this.#end;
  }

  /** Calls `visit` with the offsets of each output's amount and script, in order. */
  visitOutputs(
    visit: (bytes: Buffer, amountAt: number, scriptAt: number, scriptEnd: number, vout: number) => void
  ): void {
    const cursor = this.#cursor;
    cursor.offset = this.#outputsAt;
    const count = cursor.varInt();
    for (let vout = 0; vout < count; vout++) {
      const amountAt = cursor.offset;
      cursor.skip(8);
      const scriptBytes = cursor.varInt();
      const scriptAt = cursor.offset;
      cursor.skip(scriptBytes);
      visit(cursor.bytes, amountAt, scriptAt, cursor.offset, vout);
    }
    cursor.offset = this.#end;
  }

  /** Adds the marks of the outputs' scripts, in order. */
  markOutputs(marks: ScriptMarks): void {
    const cursor = this.#cursor;
    const { bytes } = cursor;
    cursor.offset = this.#outputsAt;
    for (let left = cursor.varInt(); left > 0; left--) {
      cursor.skip(8); // amount
      const scriptBytes = cursor.varInt();
      const scriptAt = cursor.offset;
      cursor.skip(scriptBytes);
      marks.add(bytes, scriptAt, cursor.offset);
    }
    cursor.offset = this.#end;
  }

  /** The whole transaction, with witnesses, as a view. */
  get bytes(): Buffer {
    return this.#cursor.bytes.subarray(this.#start, this.#end);
  }

  /** Returns one output; undefined when there are fewer. */
  output(vout: number): RawOutput | undefined {
    const cursor = this.#cursorAt(this.#outputsAt);
    if (vout >= cursor.varInt()) return undefined;
    for (let before = vout; before > 0; before--) {
      cursor.skip(8);
      cursor.skip(cursor.varInt());
    }
    return { amount: cursor.uint64(), script: cursor.take(cursor.varInt()) };
  }

  /** Items of the first input's witness; empty when it has none. */
  get firstWitness(): readonly Buffer[] {
    if ((this.#flags & WITNESSES) === 0 || this.#inputCount === 0) return [];
    return itemsAt(this.#cursorAt(this.#witnessesAt));
  }

  /** Items of each input's witness; empty when no input has one. */
  get witnesses(): readonly (readonly Buffer[])[] {
    if ((this.#flags & WITNESSES) === 0) return [];
    const cursor = this.#cursorAt(this.#witnessesAt);
    return Array.from({ length: this.#inputCount }, () => itemsAt(cursor));
  }

  /**
   * Reads the marker, which stands in place of the number of inputs, and the flags. Zero inputs and no flag mean a
   * transaction without inputs.
   */
  #readFlags(): void {
    const cursor = this.#cursor;
    const { bytes, offset } = cursor;
    this.#flags = bytes[offset] === 0 ? (bytes[offset + 1] ?? 0) : 0;
    if (this.#flags === 0) return;
    if (this.#flags & ~(WITNESSES | EXTENSION)) {
      throw new RangeError(`the transaction at byte ${this.#start} has the unknown flags ${this.#flags}`);
    }
    cursor.skip(2);
  }

  #skipInputs(): void {
    const cursor = this.#cursor;
    this.#inputCount = cursor.count(LEAST_INPUT_BYTES);
    this.#firstInputAt = cursor.offset;
    for (let left = this.#inputCount; left > 0; left--) {
      cursor.skip(OUTPOINT_BYTES);
      cursor.skip(cursor.varInt());
      cursor.skip(4); // sequence
    }
  }

  #skipOutputs(): void {
    const cursor = this.#cursor;
    const { bytes } = cursor;
    this.#mayCarryData = false;
    for (let left = cursor.count(LEAST_OUTPUT_BYTES); left > 0; left--) {
      cursor.skip(8); // amount
      const scriptBytes = cursor.varInt();
      const scriptAt = cursor.offset;
      cursor.skip(scriptBytes);
      if (bytes[scriptAt] === OP_RETURN || bytes[cursor.offset - 1] === OP_CHECKMULTISIG) this.#mayCarryData = true;
    }
  }

  #skipWitnesses(): void {
    const cursor = this.#cursor;
    for (let left = this.#inputCount; left > 0; left--) {
      for (let items = cursor.count(1); items > 0; items--) cursor.skip(cursor.varInt());
    }
  }

  /** Skips the extension. Within a block it is one zero byte: the extension block itself follows the transactions. */
  #skipExtension(isAlone: boolean): void {
    const cursor = this.#cursor;
    if (cursor.byte() === 0) return;
    if (!isAlone) throw new RangeError(`the transaction at byte ${this.#start} holds a part of the extension block`);
    cursor.skip(Math.max(0, cursor.left - LOCK_TIME_BYTES));
  }

  #cursorAt(offset: number): ByteCursor {
    const cursor = new ByteCursor(this.#cursor.bytes);
    cursor.offset = offset;
    return cursor;
  }
}

function itemsAt(cursor: ByteCursor): readonly Buffer[] {
  return Array.from({ length: cursor.varInt() }, () => cursor.take(cursor.varInt()));
}

/** Reads bytes that are exactly one transaction. @throws {RangeError} when they are not */
export function readRawTransaction(bytes: Buffer): RawTransaction {
  const cursor = new ByteCursor(bytes);
  const transaction = new RawTransaction(cursor);
  transaction.read(true);
  if (cursor.left > 0) throw new RangeError(`${cursor.left} bytes follow the transaction`);
  return transaction;
}
