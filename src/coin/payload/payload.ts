import { isUtf8 } from 'node:buffer';
import { createCipheriv } from 'node:crypto';
import { readName } from '../action/names.ts';
import { DEFAULT_PROFILE } from '../profile.ts';
import { pushSize, readScript, writePush } from '../script/script.ts';

/** The longest compiled action push, in bytes. @see the section "Protocol constants shared by services" */
export const MAX_ACTION_DATA_LENGTH = 8192;

/** Content of a payload. */
export interface Payload {
  /**
   * `ACTION
   * field
   * …` with the action's full name in capitals; null for an unknown action.
   */
  readonly action: string | null;
  /** The action as written, with U+FFFD for bytes that are not UTF-8. */
  readonly written: string;
  readonly isUtf8: boolean;
  readonly rawData: Uint8Array | null;
}

/**
 * Writes the data of one OP_RETURN push: magic and framed action, encrypted with the first input's txid.
 *
 * @param firstInputTxid id of the transaction whose output the first input spends
 * @returns data for a `data` output; nodes relay 80 bytes by default
 * @throws {RangeError} when the action is longer than MAX_ACTION_DATA_LENGTH
 */
export function encodePayload(
  firstInputTxid: string,
  action: string,
  {
    rawData,
    magic = DEFAULT_PROFILE.payloadMagic
  }: { readonly rawData?: Uint8Array | null; readonly magic?: string } = {}
): Uint8Array {
  return encryptPayload(firstInputTxid, writeFrame(action, rawData), magic);
}

/**
 * Writes an action and its raw data as pushes. `readFrame` reads them.
 *
 * @throws {RangeError} when they are longer than MAX_ACTION_DATA_LENGTH
 */
export function writeFrame(action: string, rawData?: Uint8Array | null): Buffer {
  const framed = Buffer.concat([writePush(Buffer.from(action)), ...(rawData?.length ? [writePush(rawData)] : [])]);
  if (framed.length <= MAX_ACTION_DATA_LENGTH) return framed;
  throw new RangeError(`an action takes at most ${MAX_ACTION_DATA_LENGTH} bytes, not ${framed.length}`);
}

/** Encrypts magic and bytes with the first input's txid. `decryptPayload` reads them. */
export function encryptPayload(firstInputTxid: string, plain: Uint8Array, magic: string): Buffer {
  return crypt(firstInputTxid, Buffer.concat([Buffer.from(magic, 'latin1'), plain]));
}

/**
 * Decrypts bytes and returns what follows the magic; undefined without the magic.
 *
 * @param firstInputTxid id of the transaction whose output the first input spends
 */
export function decryptPayload(firstInputTxid: string, bytes: Uint8Array, magic: string): Buffer | undefined {
  const plain = crypt(firstInputTxid, bytes);
  const mark = Buffer.from(magic, 'latin1');
  return plain.subarray(0, mark.length).equals(mark) ? plain.subarray(mark.length) : undefined;
}

/**
 * Reads a frame, which is itself a script: its first push is the action, an optional second one raw data.
 *
 * @returns undefined without an action, and beyond MAX_ACTION_DATA_LENGTH
 */
export function readFrame(frame: Uint8Array): Payload | undefined {
  const [first, second] = readScript(frame, 2) ?? [];
  if (first?.data === undefined) return undefined;
  const rawData = second?.data ?? null;
  const compiledBytes = pushSize(first.data.length) + (rawData ? pushSize(rawData.length) : 0);
  if (compiledBytes > MAX_ACTION_DATA_LENGTH) return undefined;
  const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(first.data);
  return { action: nameAction(written), written, isUtf8: isUtf8(first.data), rawData };
}

/** Encrypts or decrypts with AES-128-CTR, whose key and counter come from the text of the id. */
function crypt(firstInputTxid: string, bytes: Uint8Array): Buffer {
  const key = Buffer.from(firstInputTxid.slice(0, 16), 'latin1');
  const counter = Buffer.from(firstInputTxid.slice(16, 32), 'latin1');
  return createCipheriv('aes-128-ctr', key, counter).update(bytes);
}

/** Replaces the action's name by its full name; null for an unknown action. */
function nameAction(text: string): string | null {
  const named = readName(text);
  return named ? named.name + text.slice(named.written.length) : null;
}
