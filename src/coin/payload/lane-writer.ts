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

/** What an output of two keys carries behind the magic. */
const MULTISIG_BYTES = 60;
/** A push holds 520 bytes at most; so does a script that a hash commits to, which spends 44 of them on the key. */
const CHUNK_BYTES = 476;
const ENVELOPE_PART_BYTES = 520;
/** In front of 32 bytes that look like a key. */
const KEY_PREFIX = 0x02;

/**
 * The script that carries a whole payload: OP_RETURN and one push.
 *
 * @param firstInputTxid  id of the transaction whose output the first input spends
 */
export function returnScript(firstInputTxid: string, payload: Uint8Array, magic: string): Buffer {
  return Buffer.concat([Buffer.from([OP_RETURN]), writePush(encryptPayload(firstInputTxid, payload, magic))]);
}

/**
 * Scripts of outputs, in their order, that carry a frame in two of three keys; the third one may spend them.
 *
 * @param publicKey  33 bytes
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
 * Scripts that hold a frame in chunks, in the order of the inputs that reveal them. A key's owner spends them.
 *
 * @param keyHash  20 bytes
 */
export function chunkScripts(frame: Uint8Array, keyHash: Uint8Array): readonly Buffer[] {
  return cutChunks(frame).map((chunk) =>
    Buffer.concat([writePush(chunk), Buffer.from([OP_DROP]), payTo({ kind: 'keyHash', bytes: keyHash })])
  );
}

/** The script that says where the chunks of a transaction are. @param fundingTxid  id of the transaction that it spends */
export function markerScript(fundingTxid: string, marker: 'p2sh' | 'p2wsh', magic: string): Buffer {
  return returnScript(fundingTxid, Buffer.from(marker), magic);
}

/**
 * The taproot leaf that holds a frame in the clear. @param key  32 bytes; its owner spends it
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

/** Nodes refuse a push of one byte that has an opcode of its own, so that no last chunk is a single byte. */
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
