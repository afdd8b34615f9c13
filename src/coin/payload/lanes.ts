import type { RawInput, RawTransaction } from '../raw/raw-transaction.ts';
import {
  OP_0,
  OP_CHECKMULTISIG,
  OP_CHECKSIG,
  OP_ENDIF,
  OP_IF,
  OP_RETURN,
  readScript,
  type ScriptElement
} from '../script/script.ts';
import { decryptPayload } from './payload.ts';
import { type ChunkForm, proveChunks, proveEnvelope, type RevealProof } from './reveal-proof.ts';

/** Place of a payload, which decides where its sender is found. */
export type Lane =
  /** In outputs of the transaction itself. */
  | 'outputs'
  /** In scripts that inputs reveal. The first input spends an output that the sender funded. */
  | 'chunks'
  /** In a taproot script that the first input reveals. The first input spends an output that the sender funded. */
  | 'envelope';

/** Returns whether the protocol's fee is paid by the transaction that the first input spends from. */
export const feeIsFunded = (lane: Lane): boolean => lane === 'chunks';

/** A payload of a transaction, still framed. */
export interface Carried {
  readonly frame: Uint8Array;
  readonly lane: Lane;
  /** Proof of who signed revealed data; undefined without proof, and for outputs, which need none. */
  readonly proof?: RevealProof | undefined;
}

/** Rules for finding payloads. */
export interface LaneRules {
  /** Four ASCII characters in front of every payload. */
  readonly magic: string;
  /** Whether payloads in taproot scripts count. */
  readonly isEnvelopeActive: boolean;
}

/** Bytes of a public key in a multisig output. */
const KEY_BYTES = 33;
const CONTROL_BLOCK = { leastBytes: 33, stepBytes: 32, versionMask: 0xfe, version: 0xc0 };
const ANNEX = 0x50;
/**
 * Most bytes of a frame that is read: as many as the longest transaction has. A longer one repeats its chunks by several
 * markers.
 */
const MOST_FRAME_BYTES = 4_000_000;
/** Least witness items of an envelope: script and control block. */
const LEAST_ENVELOPE_ITEMS = 2;

/**
 * Returns the payload of a transaction, its parts joined in the order of the outputs; undefined when there is none.
 *
 * A payload in a taproot script must be the only one: with another beside it, there is none. Never throws.
 */
export function findCarried(transaction: RawTransaction, { magic, isEnvelopeActive }: LaneRules): Carried | undefined {
  if (transaction.isWithoutSource) return undefined;
  const envelope = isEnvelopeActive ? readEnvelope(transaction.firstWitness, magic) : undefined;
  const carried = transaction.mayCarryData ? readOutputs(transaction, magic) : undefined;
  if (envelope && carried) return undefined;
  if (!envelope) return carried;
  return { frame: envelope.frame, lane: 'envelope', proof: proveEnvelope(transaction, envelope.key) };
}

function readOutputs(transaction: RawTransaction, magic: string): Carried | undefined {
  const { inputs, outputs } = transaction;
  const { txid } = inputs[0]!;
  const markers: ChunkForm[] = [];
  const revealed: Partial<Record<ChunkForm, Revealed>> = {};
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const { script } of outputs) {
    const data = readReturn(script) ?? readMultisig(script);
    const plain = data && decryptPayload(txid, data, magic);
    const marker = plain?.toString('latin1');
    const isMarker = marker === 'p2sh' || marker === 'p2wsh';
    if (isMarker) {
      markers.push(marker);
      revealed[marker] ??= readRevealed(transaction, marker);
    }
    const part = isMarker ? revealed[marker]!.chunks : plain;
    if (part) parts.push(part);
    length += part?.length ?? 0;
    // Each marker repeats all chunks: without a bound they would fill the memory.
    if (length > MOST_FRAME_BYTES) return { frame: NOTHING, lane: 'chunks' };
  }
  if (parts.length === 0) return undefined;
  const frame = Buffer.concat(parts);
  const [form] = markers;
  if (!form) return { frame, lane: 'outputs' };
  const proof = markers.length === 1 ? proveChunks(transaction, form, revealed[form]!.revealing) : undefined;
  return { frame, lane: 'chunks', proof };
}

interface Revealed {
  /** Chunks of all inputs, joined. */
  readonly chunks: Uint8Array;
  /** Positions of the inputs that reveal one. */
  readonly revealing: readonly number[];
}

function readRevealed(transaction: RawTransaction, form: ChunkForm): Revealed {
  const chunks =
    form === 'p2sh' ? transaction.inputs.map(revealedByScript) : transaction.witnesses.map(revealedByWitness);
  const revealing = chunks.flatMap(({ length }, at) => (length > 0 ? [at] : []));
  return { chunks: Buffer.concat(chunks), revealing };
}

/** Returns the data of a script that is exactly OP_RETURN and one push. */
function readReturn(script: Buffer): Uint8Array | undefined {
  if (script[0] !== OP_RETURN) return undefined;
  const elements = readScript(script, 3);
  return elements?.length === 2 ? elements[1]!.data : undefined;
}

/** Returns the data of a 1-of-3 multisig script, held in place of its first two keys. */
function readMultisig(script: Buffer): Uint8Array | undefined {
  if (script.at(-1) !== OP_CHECKMULTISIG) return undefined;
  const elements = readScript(script, 7);
  if (elements?.length !== 6) return undefined;
  const keys = [elements[1]!.data, elements[2]!.data];
  if (!keys.every((key) => key?.length === KEY_BYTES)) return undefined;
  return Buffer.concat(keys.map((key) => key!.subarray(1)));
}

const NOTHING = new Uint8Array();

/** Returns the chunk in the third push of an input's script. */
function revealedByScript({ script }: RawInput): Uint8Array {
  const redeem = readScript(script, 3)?.[2]?.data;
  return (redeem && firstPush(redeem)) ?? NOTHING;
}

/** Returns the chunk in the third item of an input's witness. */
function revealedByWitness(items: readonly Buffer[]): Uint8Array {
  return (items[2] && firstPush(items[2])) ?? NOTHING;
}

function firstPush(script: Uint8Array): Uint8Array | undefined {
  return readScript(script, 1)?.[0]?.data;
}

/**
 * Reads an envelope: the leaf `OP_0 OP_IF <magic> <00> <part>… OP_ENDIF <key> OP_CHECKSIG` in the first input, without
 * an annex.
 */
function readEnvelope(
  items: readonly Buffer[],
  magic: string
): { readonly frame: Uint8Array; readonly key: Uint8Array } | undefined {
  if (items.length < LEAST_ENVELOPE_ITEMS || items.at(-1)![0] === ANNEX || !isControlBlock(items.at(-1)!))
    return undefined;
  const elements = readScript(items.at(-2)!);
  if (!elements || elements.length < 7) return undefined;
  const [zero, when, mark, version] = elements;
  const [endIf, key, check] = elements.slice(-3);
  const isFramed = hasOpcodes([zero, when, endIf, check], [OP_0, OP_IF, OP_ENDIF, OP_CHECKSIG]);
  const isMarked = mark?.data !== undefined && Buffer.from(mark.data).toString('latin1') === magic;
  if (!isFramed || !isMarked || key?.data?.length !== 32) return undefined;
  if (version?.data?.length !== 1 || version.data[0] !== 0) return undefined;
  const parts = elements.slice(4, -3).map(({ data }) => data);
  return parts.every((part) => part !== undefined) ? { frame: Buffer.concat(parts), key: key.data } : undefined;
}

function isControlBlock(item: Buffer): boolean {
  const { leastBytes, stepBytes, versionMask, version } = CONTROL_BLOCK;
  return (
    item.length >= leastBytes && (item.length - leastBytes) % stepBytes === 0 && (item[0]! & versionMask) === version
  );
}

function hasOpcodes(elements: readonly (ScriptElement | undefined)[], opcodes: readonly number[]): boolean {
  return elements.every((element, position) => element?.opcode === opcodes[position]);
}
