import { hash } from 'node:crypto';
import { OP_0, OP_1, OP_CHECKSIG, OP_DUP, OP_EQUAL, OP_EQUALVERIFY, OP_HASH160 } from './script.ts';

/** A script form that has an address: fixed bytes around a hash or key. */
interface Template {
  readonly before: readonly number[];
  readonly sizeBytes: number;
  readonly after: readonly number[];
}

/** Script forms. @see BIP 16, BIP 141 and BIP 341 */
const TEMPLATES = {
  keyHash: { before: [OP_DUP, OP_HASH160, 20], sizeBytes: 20, after: [OP_EQUALVERIFY, OP_CHECKSIG] },
  scriptHash: { before: [OP_HASH160, 20], sizeBytes: 20, after: [OP_EQUAL] },
  witnessKeyHash: { before: [OP_0, 20], sizeBytes: 20, after: [] },
  witnessScriptHash: { before: [OP_0, 32], sizeBytes: 32, after: [] },
  taproot: { before: [OP_1, 32], sizeBytes: 32, after: [] }
} as const satisfies Record<string, Template>;

/** A script form, named by what spends it. */
export type ScriptKind = keyof typeof TEMPLATES;

/** The hash (20 or 32 bytes) or key (32 bytes) that a script commits to. */
export interface Program {
  readonly kind: ScriptKind;
  readonly bytes: Uint8Array;
}

/** Writes the script of this form. */
export function payTo({ kind, bytes }: Program): Buffer {
  const { before, after } = TEMPLATES[kind];
  return Buffer.from([...before, ...bytes, ...after]);
}

/** Returns the form and hash of a script; undefined for one that has no address. */
export function readProgram(script: Uint8Array): Program | undefined {
  for (const [kind, template] of Object.entries(TEMPLATES) as [ScriptKind, Template][]) {
    const start = template.before.length;
    const program: Program = { kind, bytes: script.subarray(start, start + template.sizeBytes) };
    if (program.bytes.length === template.sizeBytes && payTo(program).equals(script)) return program;
  }
  return undefined;
}

/** Returns whether a witness alone spends an output with this script, so that signing does not change the txid. */
export function isWitnessProgram(script: Uint8Array): boolean {
  const kind = readProgram(script)?.kind;
  return kind === 'witnessKeyHash' || kind === 'witnessScriptHash' || kind === 'taproot';
}

/** Returns RIPEMD-160 of SHA-256, 20 bytes: addresses hold it of keys and scripts. */
export function hash160(bytes: Uint8Array): Buffer {
  return hash('ripemd160', sha256(bytes), 'buffer');
}

/** Writes the script of an output that another script spends: P2SH or P2WSH. */
export function payToScript(script: Uint8Array, form: 'p2sh' | 'p2wsh'): Buffer {
  return form === 'p2sh'
    ? payTo({ kind: 'scriptHash', bytes: hash160(script) })
    : payTo({ kind: 'witnessScriptHash', bytes: sha256(script) });
}

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');
