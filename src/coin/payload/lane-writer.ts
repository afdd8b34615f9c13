import { payTo } from '../script/pay-scripts.ts';
import {
  OP_0,
  OP_1,
  OP_3,
  OP_CHECKMULTISIG,
  OP_CHECKSIG,
  OP_DROP,
  OP_ENDIF,
  OP_IF,
  OP_RETURN,
  writePush
} from '../script/script.ts';
import { encryptPayload } from './payload.ts';

/** Bytes of a frame in one multisig output, after the magic. */
const MULTISIG_BYTES = 60;
/**
 * Bytes of a frame in one chunk. A push, and so the script behind a hash, holds at most 520 bytes; the key check takes 44 of them.
 */
const CHUNK_BYTES = 476;
/** Most bytes of one push. */
const ENVELOPE_PART_BYTES = 520;
/** First byte of data that must look like a public key. */
const KEY_PREFIX = 0x02;

/**
 * Writes the script that carries a whole payload: OP_RETURN and one push.
 *
 * @param firstInputTxid id of the transaction whose output the first input spends
 */
export function returnScript(firstInputTxid: string, payload: Uint8Array, magic: string): Buffer {
  return Buffer.concat([Buffer.from([OP_RETURN]), writePush(encryptPayload(firstInputTxid, payload, magic))]);
}

/**
 * Writes the scripts of outputs that carry a frame in two of three keys. The third key may spend them.
 *
 * @param publicKey 33 bytes
 */
export function multisigScripts(
  firstInputTxid: string,
  frame: Uint8Array,
  publicKey: Uint8Array,
  magic: string
): readonly Buffer[] {
  return cut(frame, MULTISIG_BYTES).map((part) => {
    const padded = Buffer.concat([part, Buffer.alloc(MULTISIG_BYTES - part.length)]);
    const bytes = encryptPayload(firstInputTxid, padded, magic);
    const keys = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => Buffer.from([KEY_PREFIX, ...half]));
    const pushes = [...keys, publicKey].map(writePush);
    return Buffer.concat([Buffer.from([OP_1]), ...pushes, Buffer.from([OP_3, OP_CHECKMULTISIG])]);
  });
}

/**
 * Writes the scripts that hold a frame in chunks, in the order of the inputs that reveal them. The key's owner can
 * spend them.
 *
 * @param keyHash 20 bytes
 */
export function chunkScripts(frame: Uint8Array, keyHash: Uint8Array): readonly Buffer[] {
  return cutChunks(frame).map((chunk) =>
    Buffer.concat([writePush(chunk), Buffer.from([OP_DROP]), payTo({ kind: 'keyHash', bytes: keyHash })])
  );
}

/**
 * Writes the script that marks where a transaction's chunks are. @param fundingTxid id of the transaction that it
 * spends
 */
export function markerScript(fundingTxid: string, marker: 'p2sh' | 'p2wsh', magic: string): Buffer {
  return returnScript(fundingTxid, Buffer.from(marker), magic);
}

/**
 * Writes the taproot leaf that holds a frame in plain form. @param key 32 bytes; its owner can spend the leaf
 *
 * @see BIP 342
 */
export function envelopeScript(frame: Uint8Array, key: Uint8Array, magic: string): Buffer {
  return Buffer.concat([
    Buffer.from([OP_0, OP_IF]),
    writePush(Buffer.from(magic, 'latin1')),
    writePush(Buffer.from([0])),
    ...cut(frame, ENVELOPE_PART_BYTES).map(writePush),
    Buffer.from([OP_ENDIF]),
    writePush(key),
    Buffer.from([OP_CHECKSIG])
  ]);
}

/**
 * Cuts a frame into chunks. The last one is never a single byte: nodes refuse to push a byte that has an opcode of its
 * own.
 */
function cutChunks(frame: Uint8Array): readonly Uint8Array[] {
  const rest = frame.length % CHUNK_BYTES;
  if (rest !== 1 || frame.length < CHUNK_BYTES) return cut(frame, CHUNK_BYTES);
  const end = frame.length - rest - 1;
  return [...cut(frame.subarray(0, end), CHUNK_BYTES), frame.subarray(end)];
}

function cut(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, part) =>
    bytes.subarray(part * size, (part + 1) * size)
  );
}
