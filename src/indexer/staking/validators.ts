import { parseAmount } from '../../consensus/amount.ts';
import type { Effects } from '../state/effects.ts';
import { isActive, type Signer, type Stake, sumOf } from '../state/signer.ts';
import { ALL_KEYS } from './checks.ts';

/** Units of the gas token that a key needs for each capability. */
export const CAPABILITIES = {
  price: '1000',
  cross_chain: '5000',
  oracle_publish: '500',
  attestation: '1000',
  full_node: '2000'
} as const;
/** Name of a capability. */
export type Capability = keyof typeof CAPABILITIES;

/** Key that may sign in a block, with its stake. */
export interface Validator {
  readonly pubkey: string;
  readonly source: string;
  readonly weight: bigint;
}

/** Returns whether a text names a capability. */
export function isCapability(text: string): text is Capability {
  return Object.hasOwn(CAPABILITIES, text);
}

/** Returns the least weight of a capability, in counts of 10^-18. */
export function leastWeight(capability: Capability): bigint {
  return parseAmount(CAPABILITIES[capability])!;
}

/** Returns the stakes of an address, behind all its keys, that count in a block, in counts of 10^-18. */
export function stakedBy(source: string, ledger: Effects, height: number): bigint {
  const keys = [...ledger.get('keysOf', source)];
  ledger.request(keys.map((key) => ({ kind: 'signer', key })));
  return keys.reduce((sum, key) => sum + (sumsIn(ledger.get('signer', key).stakes, height).get(source) ?? 0n), 0n);
}

/** Amounts of stakes that count in a block, by their sources. */
interface Sums {
  readonly height: number;
  readonly bySource: ReadonlyMap<string, bigint>;
}

/** Sums of the stakes of keys. One key may have tens of thousands, and all polls of a block ask for the same. */
const known = new WeakMap<readonly Stake[], Sums>();

function sumsIn(stakes: readonly Stake[], height: number): Sums['bySource'] {
  const found = known.get(stakes);
  if (found?.height === height) return found.bySource;
  const bySource = new Map<string, bigint>();
  for (const stake of stakes)
    if (isActive(stake, height)) bySource.set(stake.source, (bySource.get(stake.source) ?? 0n) + stake.amount);
  known.set(stakes, { height, bySource });
  return bySource;
}

/** Returns the keys that anybody ever staked behind or delegated. */
export function allKeys(ledger: Effects): readonly string[] {
  return [...ledger.get('keys', ALL_KEYS)];
}

/** Returns the keys of each source that one of some keys is delegated to in a block. */
export function keysBehind(keys: readonly string[], ledger: Effects, height: number): readonly string[] {
  const delegations = keys.flatMap((key) =>
    ledger.get('signer', key).delegations.filter((one) => isActive(one, height))
  );
  const sources = [...new Set(delegations.map(({ source }) => source))];
  ledger.request(sources.map((key) => ({ kind: 'keysOf', key })));
  return sources.flatMap((source) => [...ledger.get('keysOf', source)]);
}

/**
 * Returns the keys that have a capability in a block, in byte order. A key that is banned by now had none in past
 * blocks either.
 */
export function validatorsAt(capability: Capability, ledger: Effects, height: number): Validator[] {
  const keys = allKeys(ledger);
  ledger.request(keys.map((key) => ({ kind: 'signer', key })));
  const least = leastWeight(capability);
  const staked = new Map<string, bigint>();
  return keys
    .toSorted()
    .flatMap((pubkey) => validatorOf(pubkey, ledger, height, staked) ?? [])
    .filter(({ weight }) => weight >= least);
}

/**
 * Returns a key with its stake in a block: a stake's own key has the stake, a delegated key all stakes of its source.
 *
 * @param staked stakes of sources in that block, as far as they were added up; it adds those that it needs
 */
export function validatorOf(
  pubkey: string,
  ledger: Effects,
  height: number,
  staked = new Map<string, bigint>()
): Validator | null {
  const signer: Signer = ledger.get('signer', pubkey);
  if (signer.isBanned) return null;
  const delegation = signer.delegations.find((one) => isActive(one, height));
  if (delegation) {
    const { source } = delegation;
    const weight = staked.get(source) ?? stakedBy(source, ledger, height);
    staked.set(source, weight);
    return { pubkey, source, weight };
  }
  const isRevoked = signer.revokedFrom !== null && signer.revokedFrom <= height;
  const stakes = signer.stakes.filter((stake) => isActive(stake, height));
  if (isRevoked || stakes.length === 0) return null;
  return { pubkey, source: stakes[0]!.source, weight: sumOf(stakes) };
}

/**
 * Returns whether some validators have more than two thirds of the weight of all. Of each source only the key with the
 * greatest weight counts, among all and among those that signed.
 */
export function isQuorum(signers: readonly Validator[], all: readonly Validator[]): boolean {
  return weightOf(signers) * 3n > weightOf(all) * 2n;
}

function weightOf(validators: readonly Validator[]): bigint {
  const heaviest = new Map<string, bigint>();
  for (const { source, weight } of validators) {
    if (weight > (heaviest.get(source) ?? 0n)) heaviest.set(source, weight);
  }
  return [...heaviest.values()].reduce((sum, weight) => sum + weight, 0n);
}
