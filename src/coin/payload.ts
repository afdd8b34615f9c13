import { createCipheriv } from 'node:crypto';
import { findAction } from './actions.ts';
import { DEFAULT_PROFILE } from './profile.ts';
import { OP_RETURN, pushSize, readScript, writePush } from './script.ts';

/** The longest compiled action push, in bytes. @see the section "Protocol constants shared by services" */
export const MAX_ACTION_DATA_LENGTH = 8192;

/** What a transaction says. */
export interface Payload {
  /** `ACTION|field|…`, the action's name in capitals and without alias. */
  readonly action: string;
  readonly rawData: Uint8Array | null;
}

/** The parts of a transaction that a payload is read from, as a coin node prints them. */
export interface PayloadCarrier {
  readonly vin: readonly { readonly txid?: string }[];
  readonly vout: readonly { readonly scriptPubKey?: { readonly hex: string } }[];
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
  const framed = Buffer.concat([writePush(Buffer.from(action)), ...(rawData?.length ? [writePush(rawData)] : [])]);
  if (framed.length > MAX_ACTION_DATA_LENGTH) {
    throw new RangeError(`an action takes at most ${MAX_ACTION_DATA_LENGTH} bytes, not ${framed.length}`);
  }
  return crypt(firstInputTxid, Buffer.concat([Buffer.from(magic, 'latin1'), framed]));
}

/** What the transaction's OP_RETURN outputs say, in the order of its outputs; undefined when that is nothing. Never throws. */
export function findPayload(carrier: PayloadCarrier, magic = DEFAULT_PROFILE.payloadMagic): Payload | undefined {
  const firstInputTxid = carrier.vin[0]?.txid;
  if (firstInputTxid === undefined || !/^(?!0+$)[0-9a-f]{64}$/.test(firstInputTxid)) return undefined; // coinbase
  const mark = Buffer.from(magic, 'latin1');
  const parts = carrier.vout.flatMap(({ scriptPubKey }) => {
    const pushed = scriptPubKey && readReturnPush(scriptPubKey.hex);
    const plain = pushed && crypt(firstInputTxid, pushed);
    return plain?.subarray(0, mark.length).equals(mark) ? [plain.subarray(mark.length)] : [];
  });
  return parts.length === 0 ? undefined : readFrame(Buffer.concat(parts));
}

/** AES-128-CTR: the same both ways, keyed by the text of the id. */
function crypt(firstInputTxid: string, bytes: Uint8Array): Buffer {
  const key = Buffer.from(firstInputTxid.slice(0, 16), 'latin1');
  const counter = Buffer.from(firstInputTxid.slice(16, 32), 'latin1');
  return createCipheriv('aes-128-ctr', key, counter).update(bytes);
}

/** The data of a script that is exactly OP_RETURN and one push. */
function readReturnPush(scriptHex: string): Uint8Array | undefined {
  if (!scriptHex.startsWith('6a')) return undefined;
  const elements = readScript(Buffer.from(scriptHex, 'hex'));
  return elements?.length === 2 && elements[0]!.opcode === OP_RETURN ? elements[1]!.data : undefined;
}

/** The frame is a script by itself: the action is its first push, raw data the optional second. */
function readFrame(frame: Uint8Array): Payload | undefined {
  const [first, second] = readScript(frame) ?? [];
  if (first?.data === undefined) return undefined;
  const rawData = second?.data ?? null;
  const compiledBytes = pushSize(first.data.length) + (rawData ? pushSize(rawData.length) : 0);
  if (compiledBytes > MAX_ACTION_DATA_LENGTH) return undefined;
  const action = nameAction(new TextDecoder('utf-8', { ignoreBOM: true }).decode(first.data));
  return action === undefined ? undefined : { action, rawData };
}

/** The action under its full name; undefined when nobody knows it. */
function nameAction(text: string): string | undefined {
  const [written = ''] = text.split('|', 1);
  const name = findAction(written);
  return name === undefined ? undefined : name + text.slice(written.length);
}
