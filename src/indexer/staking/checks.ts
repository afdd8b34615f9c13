import type { Check, Step } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import { isActive, readPubkey, type Signer } from './signer.ts';

/** The one key of the fact that lists all keys. */
export const ALL_KEYS = 'all';

/** A key as it was written, and as it is stored. */
export interface KeyField {
  readonly text: string;
  /** Null for a text that is no key. */
  readonly pubkey: string | null;
}

/** The key that a field of an action names. */
export function readKey({ action }: Step, field: string): KeyField {
  const text = action.fields.get(field);
  return { text, pubkey: readPubkey(text) };
}

/** `ACTION (BTC only)`: what validators stake is on Bitcoin alone. */
export const bitcoinOnly: Check<unknown> = ['ACTION (BTC only)', (_, { rules }) => rules.coin !== 'BTC'];

/** The two checks of a key's form. */
export const KEY_CHECKS: readonly Check<{ readonly key: KeyField }>[] = [
  ['SIGNING_PUBKEY (required)', ({ key }) => key.text === ''],
  ['SIGNING_PUBKEY (format)', ({ key }) => key.pubkey === null]
];

/** What the ledger knows of a key whose form is right. */
export function signerOf({ pubkey }: KeyField, ledger: Effects): Signer {
  return ledger.get('signer', pubkey!);
}

/** Adds a key to those that were ever staked behind or delegated. */
export function noteKey({ pubkey }: KeyField, ledger: Effects): void {
  const keys = ledger.get('keys', ALL_KEYS);
  if (!keys.includes(pubkey!)) ledger.set('keys', ALL_KEYS, [...keys, pubkey!]);
}

/** Whether an address has a stake that counts in a block. */
export function hasStake(source: string, ledger: Effects, height: number): boolean {
  const keys = ledger.get('keysOf', source);
  ledger.want(keys.map((key) => ({ kind: 'signer', key })));
  return keys.some((key) =>
    ledger
      .get('signer', key)
      .stakes.some((stake) => stake.source === source && stake.amount > 0n && isActive(stake, height))
  );
}
