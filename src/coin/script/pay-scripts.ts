import { hash } from 'node:crypto';
import { OP_0, OP_1, OP_CHECKSIG, OP_DUP, OP_EQUAL, OP_EQUALVERIFY, OP_HASH160 } from './script.ts';

/** A form of output that an address stands for: the bytes before and behind a hash or key of so many bytes. */
interface Template {
  readonly before: readonly number[];
  readonly sizeBytes: number;
  readonly after: readonly number[];
}

/** @see BIP 16, BIP 141 and BIP 341 */
const TEMPLATES = {
  keyHash: { before: [OP_DUP, OP_HASH160, 20], sizeBytes: 20, after: [OP_EQUALVERIFY, OP_CHECKSIG] },
  scriptHash: { before: [OP_HASH160, 20], sizeBytes: 20, after: [OP_EQUAL] },
  witnessKeyHash: { before: [OP_0, 20], sizeBytes: 20, after: [] },
  witnessScriptHash: { before: [OP_0, 32], sizeBytes: 32, after: [] },
  taproot: { before: [OP_1, 32], sizeBytes: 32, after: [] }
} as const satisfies Record<string, Template>;

/** What kind of output a script is, by what spends it. */
export type ScriptKind = keyof typeof TEMPLATES;

/** What an output's script commits to: a hash of 20 or 32 bytes, or a key of 32. */
export interface Program {
  readonly kind: ScriptKind;
  readonly bytes: Uint8Array;
}

/** The script of an output of this kind. */
export function payTo({ kind, bytes }: Program): Buffer {
  const { before, after } = TEMPLATES[kind];
  return Buffer.from([...before, ...bytes, ...after]);
}

/** What a script commits to; undefined for one that no address stands for. */
export function readProgram(script: Uint8Array): Program | undefined {
  for (const [kind, template] of Object.entries(TEMPLATES) as [ScriptKind, Template][]) {
    const start = template.before.length;
    const program: Program = { kind, bytes: script.subarray(start, start + template.sizeBytes) };
    if (program.bytes.length === template.sizeBytes && payTo(program).equals(script)) return program;
  }
  return undefined;
}

/** Whether a witness alone spends an output with this script, so that no signature changes the id of what spends it. */
export function isWitnessProgram(script: Uint8Array): boolean {
  const kind = readProgram(script)?.kind;
  return kind === 'witnessKeyHash' || kind === 'witnessScriptHash' || kind === 'taproot';
}

/** RIPEMD-160 of SHA-256, 20 bytes: what addresses hold of keys and scripts. */
export function hash160(bytes: Uint8Array): Buffer {
  return hash('ripemd160', sha256(bytes), 'buffer');
}

/** The script of an output that another script spends, in the old form or by a witness. */
export function payToScript(script: Uint8Array, form: 'p2sh' | 'p2wsh'): Buffer {
  return form === 'p2sh'
    ? payTo({ kind: 'scriptHash', bytes: hash160(script) })
    : payTo({ kind: 'witnessScriptHash', bytes: sha256(script) });
}

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');
