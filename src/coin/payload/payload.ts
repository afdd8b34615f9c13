import { isUtf8 } from 'node:buffer';
import { createCipheriv } from 'node:crypto';
import { readName } from '../action/names.ts';
import { DEFAULT_PROFILE } from '../profile.ts';
import { pushSize, readScript, writePush } from '../script/script.ts';

/** The longest compiled action push, in bytes. @see the section "Protocol constants shared by services" */
export const MAX_ACTION_DATA_LENGTH = 8192;

/** What a transaction says. */
export interface Payload {
  /** `ACTION|field|…`, the action's name in capitals and without alias; null when nobody knows the action. */
  readonly action: string | null;
  /** The action as it was written; U+FFFD stands for bytes that are not UTF-8. */
  readonly written: string;
  readonly isUtf8: boolean;
  readonly rawData: Uint8Array | null;
}

/**
 * The bytes for one OP_RETURN push: magic and framed action, encrypted for the transaction's first input.
 *
 * @param firstInputTxid  id of the transaction whose output the first input spends
 * @returns for a `data` output; nodes relay 80 bytes by default
 * @throws {RangeError} when the compiled action is longer than MAX_ACTION_DATA_LENGTH
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
 * An action and its raw data as pushes, which `readFrame` reads.
 *
 * @throws {RangeError} when they are longer than MAX_ACTION_DATA_LENGTH
 */
export function writeFrame(action: string, rawData?: Uint8Array | null): Buffer {
  const framed = Buffer.concat([writePush(Buffer.from(action)), ...(rawData?.length ? [writePush(rawData)] : [])]);
  if (framed.length <= MAX_ACTION_DATA_LENGTH) return framed;
  throw new RangeError(`an action takes at most ${MAX_ACTION_DATA_LENGTH} bytes, not ${framed.length}`);
}

/** Magic and bytes, encrypted for the transaction's first input: what `decryptPayload` reads. */
export function encryptPayload(firstInputTxid: string, plain: Uint8Array, magic: string): Buffer {
  return crypt(firstInputTxid, Buffer.concat([Buffer.from(magic, 'latin1'), plain]));
}

/**
 * What stands behind the magic in encrypted bytes of a transaction; undefined when the magic is not there.
 *
 * @param firstInputTxid  id of the transaction whose output the first input spends
 */
export function decryptPayload(firstInputTxid: string, bytes: Uint8Array, magic: string): Buffer | undefined {
  const plain = crypt(firstInputTxid, bytes);
  const mark = Buffer.from(magic, 'latin1');
  return plain.subarray(0, mark.length).equals(mark) ? plain.subarray(mark.length) : undefined;
}

/**
 * Reads a frame, which is a script by itself: the action is its first push, raw data the optional second.
 *
 * @returns undefined when it has no action, or is longer than MAX_ACTION_DATA_LENGTH
 */
export function readFrame(frame: Uint8Array): Payload | undefined {
  const [first, second] = readScript(frame) ?? [];
  if (first?.data === undefined) return undefined;
  const rawData = second?.data ?? null;
  const compiledBytes = pushSize(first.data.length) + (rawData ? pushSize(rawData.length) : 0);
  if (compiledBytes > MAX_ACTION_DATA_LENGTH) return undefined;
  const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(first.data);
  return { action: nameAction(written), written, isUtf8: isUtf8(first.data), rawData };
}

/** AES-128-CTR: the same both ways, keyed by the text of the id. */
function crypt(firstInputTxid: string, bytes: Uint8Array): Buffer {
  const key = Buffer.from(firstInputTxid.slice(0, 16), 'latin1');
  const counter = Buffer.from(firstInputTxid.slice(16, 32), 'latin1');
  return createCipheriv('aes-128-ctr', key, counter).update(bytes);
}

/** The action under its full name; null when nobody knows it. */
function nameAction(text: string): string | null {
  const named = readName(text);
  return named ? named.name + text.slice(named.written.length) : null;
}
