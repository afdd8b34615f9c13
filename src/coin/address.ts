import { hash } from 'node:crypto';
import { bech32, bech32m, createBase58check } from '@scure/base';
import type { AddressVersions } from './chains.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

const OP_1 = 0x51;
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
