import { hash } from 'node:crypto';
import { bech32, bech32m, createBase58check } from '@scure/base';
import type { AddressVersions } from './chains.ts';
import { OP_1 } from './script.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

const MAX_ADDRESS = 90;
/** A template: the bytes in front of the hash, its length, the bytes behind it. */
const PAY_TO_KEY_HASH = { before: '76a914', hashBytes: 20, after: '88ac' };
const PAY_TO_SCRIPT_HASH = { before: 'a914', hashBytes: 20, after: '87' };

/**
 * The address that stands for an output's script; undefined where none does: a bare key, bare multisig, data, and segwit
 * programs of no known meaning.
 *
 * @see BIP 13, BIP 173 and BIP 350 for the forms
 */
export function addressOf(script: Uint8Array, versions: AddressVersions): string | undefined {
  const keyHash = hashWithin(script, PAY_TO_KEY_HASH);
  if (keyHash) return base58check.encode(Uint8Array.of(versions.p2pkh, ...keyHash));
  const scriptHash = hashWithin(script, PAY_TO_SCRIPT_HASH);
  if (scriptHash) return base58check.encode(Uint8Array.of(versions.p2sh, ...scriptHash));
  return versions.bech32 === null ? undefined : segwitAddress(script, versions.bech32);
}

/** An address of the network as this system writes it, whichever accepted form it has; undefined for other texts. */
export function canonicalAddress(text: string, versions: AddressVersions): string | undefined {
  const script = scriptOf(text, versions);
  return script && addressOf(script, versions);
}

/** The script that an address of the network pays to; undefined for texts that are none, and for forms of no known meaning. */
export function scriptOf(text: string, versions: AddressVersions): Buffer | undefined {
  if (text.length > MAX_ADDRESS) return undefined;
  const script = base58Script(text, versions) ?? segwitScript(text, versions.bech32);
  return script && addressOf(script, versions) === undefined ? undefined : script;
}

function base58Script(text: string, { p2pkh, p2shAccepted }: AddressVersions): Buffer | undefined {
  let bytes: Uint8Array;
  try {
    bytes = base58check.decode(text);
  } catch {
    return undefined; // another alphabet or checksum
  }
  const [version] = bytes;
  if (bytes.length !== 21 || version === undefined) return undefined;
  const template = version === p2pkh ? PAY_TO_KEY_HASH : p2shAccepted.includes(version) ? PAY_TO_SCRIPT_HASH : null;
  return template
    ? Buffer.concat([Buffer.from(template.before, 'hex'), bytes.subarray(1), Buffer.from(template.after, 'hex')])
    : undefined;
}

function segwitScript(text: string, prefix: string | null): Buffer | undefined {
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(text);
    const version = decoded?.words[0];
    if (!decoded || decoded.prefix !== prefix || version !== (coder === bech32 ? 0 : 1)) continue;
    const program = coder.fromWordsUnsafe(decoded.words.slice(1));
    if (program) return Buffer.concat([Buffer.from([version === 0 ? 0 : OP_1, program.length]), program]);
  }
  return undefined;
}

/** Version 0 with 20 or 32 bytes, version 1 with 32. */
function segwitAddress(script: Uint8Array, prefix: string): string | undefined {
  const [version, size] = script;
  const program = script.subarray(2);
  if (size !== program.length) return undefined;
  if (version === 0 && (size === 20 || size === 32)) return bech32.encode(prefix, [0, ...bech32.toWords(program)]);
  if (version === OP_1 && size === 32) return bech32m.encode(prefix, [1, ...bech32m.toWords(program)]);
  return undefined;
}

function hashWithin(script: Uint8Array, template: typeof PAY_TO_KEY_HASH): Uint8Array | undefined {
  const before = Buffer.from(template.before, 'hex');
  const after = Buffer.from(template.after, 'hex');
  const end = before.length + template.hashBytes;
  if (script.length !== end + after.length) return undefined;
  if (before.compare(script, 0, before.length) !== 0 || after.compare(script, end) !== 0) return undefined;
  return script.subarray(before.length, end);
}

const HASH_BYTES = 20;
const MIN_PROGRAM = 2;
const MAX_PROGRAM = 40;
const MAX_SEGWIT_VERSION = 16;

/**
 * Whether a text is an address of a network, with a good checksum. Segwit addresses count in small letters only, so that each
 * address has one spelling.
 *
 * @see BIP 13, BIP 173 and BIP 350
 */
export function isAddress(text: string, versions: AddressVersions): boolean {
  return isSegwitAddress(text, versions.bech32) || isHashAddress(text, versions);
}

function isHashAddress(text: string, { p2pkh, p2shAccepted }: AddressVersions): boolean {
  if (text.length > 36) return false; // 25 bytes are shorter; long texts cost time
  try {
    const [version, ...hashed] = base58check.decode(text);
    return hashed.length === HASH_BYTES && [p2pkh, ...p2shAccepted].includes(version!);
  } catch {
    return false;
  }
}

function isSegwitAddress(text: string, prefix: string | null): boolean {
  if (prefix === null || !text.startsWith(`${prefix}1`) || text !== text.toLowerCase()) return false;
  const [version, program] = readProgram(bech32, text) ?? readProgram(bech32m, text) ?? [];
  if (version === undefined || program === undefined) return false;
  if (version === 0) return readProgram(bech32, text) !== null && (program.length === 20 || program.length === 32);
  const isSized = program.length >= MIN_PROGRAM && program.length <= MAX_PROGRAM;
  return readProgram(bech32m, text) !== null && version <= MAX_SEGWIT_VERSION && isSized;
}

/** Version and program under one of the two checksums; null for another. */
function readProgram(coder: typeof bech32, text: string): readonly [version: number, program: Uint8Array] | null {
  try {
    const { words } = coder.decode(text as `${string}1${string}`);
    return [words[0]!, coder.fromWords(words.slice(1))];
  } catch {
    return null;
  }
}
