import { hash } from 'node:crypto';
import { bech32, bech32m, createBase58check } from '@scure/base';
import type { AddressVersions } from '../chains.ts';
import { type Program, payTo, readProgram } from './pay-scripts.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

const MAX_ADDRESS = 90;
/** Characters of 25 bytes in base58: version, hash and checksum. */
const MAX_BASE58 = 35;
const HASH_BYTES = 20;

/**
 * Returns the address of an output's script; undefined for a bare key, bare multisig, data, and segwit programs of
 * unknown meaning.
 *
 * @see BIP 13, BIP 173 and BIP 350 for the forms
 */
export function addressOf(script: Uint8Array, versions: AddressVersions): string | undefined {
  const program = readProgram(script);
  if (!program) return undefined;
  const { kind, bytes } = program;
  if (kind === 'keyHash') return base58check.encode(Uint8Array.of(versions.p2pkh, ...bytes));
  if (kind === 'scriptHash') return base58check.encode(Uint8Array.of(versions.p2sh, ...bytes));
  if (versions.bech32 === null) return undefined;
  const words = bech32.toWords(bytes);
  return kind === 'taproot'
    ? bech32m.encode(versions.bech32, [1, ...words])
    : bech32.encode(versions.bech32, [0, ...words]);
}

/** Returns an address in the spelling that ledgers use; undefined for texts that are no address of the network. */
export function canonicalAddress(text: string, versions: AddressVersions): string | undefined {
  const script = scriptOf(text, versions);
  return script && addressOf(script, versions);
}

/**
 * Returns the script that an address of the network pays to; undefined for other texts and for forms of unknown
 * meaning.
 */
export function scriptOf(text: string, versions: AddressVersions): Buffer | undefined {
  if (text.length > MAX_ADDRESS) return undefined;
  const program = base58Program(text, versions) ?? segwitProgram(text, versions.bech32);
  return program && payTo(program);
}

function base58Program(text: string, { p2pkh, p2shAccepted }: AddressVersions): Program | undefined {
  if (text.length > MAX_BASE58) return undefined; // a segwit address: a failure to decode costs as much as a success
  let bytes: Uint8Array;
  try {
    bytes = base58check.decode(text);
  } catch {
    return undefined; // another alphabet or checksum
  }
  const [version] = bytes;
  if (bytes.length !== 1 + HASH_BYTES || version === undefined) return undefined;
  const kind = version === p2pkh ? 'keyHash' : p2shAccepted.includes(version) ? 'scriptHash' : undefined;
  return kind && { kind, bytes: bytes.subarray(1) };
}

/** Decodes version 0 with 20 or 32 bytes, or version 1 with 32. */
function segwitProgram(text: string, prefix: string | null): Program | undefined {
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(text);
    const version = decoded?.words[0];
    if (!decoded || decoded.prefix !== prefix || version !== (coder === bech32 ? 0 : 1)) continue;
    const bytes = coder.fromWordsUnsafe(decoded.words.slice(1));
    if (!bytes) continue;
    if (version === 1) return bytes.length === 32 ? { kind: 'taproot', bytes } : undefined;
    if (bytes.length === HASH_BYTES) return { kind: 'witnessKeyHash', bytes };
    if (bytes.length === 32) return { kind: 'witnessScriptHash', bytes };
  }
  return undefined;
}

const MIN_PROGRAM = 2;
const MAX_PROGRAM = 40;
const MAX_SEGWIT_VERSION = 16;

/**
 * Returns whether a text is an address of a network with a valid checksum. Segwit addresses must be in lower case, so
 * that each address has one spelling.
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
  const [version, program] = decodeProgram(bech32, text) ?? decodeProgram(bech32m, text) ?? [];
  if (version === undefined || program === undefined) return false;
  if (version === 0) return decodeProgram(bech32, text) !== null && (program.length === 20 || program.length === 32);
  const isSized = program.length >= MIN_PROGRAM && program.length <= MAX_PROGRAM;
  return decodeProgram(bech32m, text) !== null && version <= MAX_SEGWIT_VERSION && isSized;
}

/** Returns version and program when this checksum is valid; else null. */
function decodeProgram(coder: typeof bech32, text: string): readonly [version: number, program: Uint8Array] | null {
  try {
    const { words } = coder.decode(text as `${string}1${string}`);
    return [words[0]!, coder.fromWords(words.slice(1))];
  } catch {
    return null;
  }
}
