/** One element of a script: its opcode, and the data of a push. */
export interface ScriptElement {
  readonly opcode: number;
  readonly data?: Uint8Array;
}

const OP_PUSHDATA1 = 0x4c;
const OP_PUSHDATA2 = 0x4d;
const OP_PUSHDATA4 = 0x4e;
export const OP_0 = 0x00;
export const OP_1 = 0x51;
export const OP_3 = 0x53;
export const OP_IF = 0x63;
export const OP_ENDIF = 0x68;
export const OP_RETURN = 0x6a;
export const OP_DROP = 0x75;
export const OP_DUP = 0x76;
export const OP_EQUALVERIFY = 0x88;
export const OP_CHECKSIG = 0xac;
export const OP_CHECKMULTISIG = 0xae;
export const OP_EQUAL = 0x87;
export const OP_HASH160 = 0xa9;

/**
 * Splits a script into elements; undefined when a push passes its end. Never throws.
 *
 * @param most elements that are returned: whoever asks for few does not pay for those of a long script
 */
export function readScript(script: Uint8Array, most = Number.POSITIVE_INFINITY): readonly ScriptElement[] | undefined {
  const view = new DataView(script.buffer, script.byteOffset, script.byteLength);
  const elements: ScriptElement[] = [];
  for (let offset = 0; offset < script.length; ) {
    const opcode = script[offset++]!;
    if (opcode === 0 || opcode > OP_PUSHDATA4) {
      if (elements.length < most) elements.push({ opcode });
      continue;
    }
    const prefixBytes = opcode < OP_PUSHDATA1 ? 0 : opcode === OP_PUSHDATA1 ? 1 : opcode === OP_PUSHDATA2 ? 2 : 4;
    if (offset + prefixBytes > script.length) return undefined;
    const sizeBytes =
      prefixBytes === 0
        ? opcode
        : prefixBytes === 1
          ? view.getUint8(offset)
          : prefixBytes === 2
            ? view.getUint16(offset, true)
            : view.getUint32(offset, true);
    offset += prefixBytes;
    if (offset + sizeBytes > script.length) return undefined;
    if (elements.length < most) elements.push({ opcode, data: script.subarray(offset, offset + sizeBytes) });
    offset += sizeBytes;
  }
  return elements;
}

/** Writes a data push: 1 byte of prefix up to 75 bytes, 2 up to 255, 3 up to 65535. @throws {RangeError} beyond that */
export function writePush(data: Uint8Array): Uint8Array {
  const { length } = data;
  if (length > 0xffff) throw new RangeError(`a push holds at most 65535 bytes, not ${length}`);
  const prefix =
    length < OP_PUSHDATA1
      ? [length]
      : length <= 0xff
        ? [OP_PUSHDATA1, length]
        : [OP_PUSHDATA2, length & 0xff, length >> 8];
  return Buffer.concat([Uint8Array.from(prefix), data]);
}

/** Returns the bytes that a push of this much data takes. */
export function pushSize(dataBytes: number): number {
  return dataBytes + (dataBytes < OP_PUSHDATA1 ? 1 : dataBytes <= 0xff ? 2 : 3);
}

/** Returns whether a script is P2SH or P2WSH. */
export function isPaidToScriptHash(script: Uint8Array): boolean {
  const isLegacy = script.length === 23 && script[0] === OP_HASH160 && script[22] === OP_EQUAL;
  return isLegacy || (script.length === 34 && script[0] === OP_0 && script[1] === 32);
}
