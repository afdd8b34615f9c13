import type { Check, Step } from '../rules/action-definition.ts';
import { isSeenEnough, lookAt } from '../rules/checks.ts';
import type { Effects } from '../state/effects.ts';
import { isActive, readPubkey, type Signer } from '../state/signer.ts';

/** The only key of the fact that lists all signing keys. */
export const ALL_KEYS = 'all';

/** Signing key as it was written, and as it is stored. */
export interface KeyField {
  readonly text: string;
  /** Stored form; null for a text that is no key. */
  readonly pubkey: string | null;
}

/** Returns the signing key that a field of an action names. */
export function readKey({ action }: Step, field: string): KeyField {
  const text = action.fields.get(field);
  return { text, pubkey: readPubkey(text) };
}

/** Check `ACTION (BTC only)`: validators stake on Bitcoin only. */
export const bitcoinOnly: Check<unknown> = ['ACTION (BTC only)', (_, { rules }) => rules.coin !== 'BTC'];

/** Checks of a key's form. */
export const KEY_CHECKS: readonly Check<{ readonly key: KeyField }>[] = [
  ['SIGNING_PUBKEY (required)', ({ key }) => key.text === ''],
  ['SIGNING_PUBKEY (format)', ({ key }) => key.pubkey === null]
];

/** Returns what the ledger knows of a key whose form is right. */
export function signerOf({ pubkey }: KeyField, ledger: Effects): Signer {
  return ledger.get('signer', pubkey!);
}

/** Adds a key to those that were ever staked behind or delegated. */
export function noteKey({ pubkey }: KeyField, ledger: Effects): void {
  const keys = ledger.get('keys', ALL_KEYS);
  if (!keys.has(pubkey!)) ledger.set('keys', ALL_KEYS, keys.with([pubkey!]));
}

/** Keys and stakes that an action reads whatever the block has looked at before. */
const FREE_KEYS = 50;

/** Returns whether the block has seen enough for an action to read so many keys or stakes. */
export function isBeyondKeys(count: number, step: Pick<Step, 'ledger'>): boolean {
  return count > FREE_KEYS && isSeenEnough('recipients', step);
}

/**
 * Returns the check `KEYS (block limit)` of an action that reads signing keys: each is a look, and so is each further
 * stake of a key. @param read returns the keys, of which it reads none
 */
export function keysSeen<Leg>(read: (leg: Leg, step: Step) => readonly string[]): Check<Leg> {
  return [
    'KEYS (block limit)',
    (leg, step) => {
      const { ledger } = step;
      const keys = read(leg, step);
      if (isBeyondKeys(keys.length, step)) return true;
      ledger.request(keys.map((key) => ({ kind: 'signer', key })));
      // Added up first: at the end of a share single looks would count by the order of the keys, which nobody agrees on.
      const looks = keys.reduce((sum, key) => sum + Math.max(1, ledger.get('signer', key).stakes.length), 0);
      if (isBeyondKeys(looks, step)) return true;
      lookAt(looks, step);
      return false;
    }
  ];
}

/** Check `KEYS (block limit)` of an action that reads the stakes of the key that it names. */
export const namedKeySeen: Check<{ readonly key: KeyField }> = keysSeen(({ key }) => [key.pubkey!]);

/** Check `KEYS (block limit)` of an action that reads all keys that its source ever staked behind. */
export const ownKeysSeen: Check<unknown> = keysSeen((_, { action, ledger }) => [
  ...ledger.get('keysOf', action.source)
]);

/** Returns whether an address has a stake that counts in a block. */
export function hasStake(source: string, ledger: Effects, height: number): boolean {
  const keys = [...ledger.get('keysOf', source)];
  ledger.request(keys.map((key) => ({ kind: 'signer', key })));
  return keys.some((key) =>
    ledger
      .get('signer', key)
      .stakes.some((stake) => stake.source === source && stake.amount > 0n && isActive(stake, height))
  );
}
