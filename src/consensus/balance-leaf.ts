import { PlatformError } from '../errors.ts';
import { type CommitmentHashes, joinFields, type RawHash, sha256 } from './commitment-hashes.ts';

/** Names of the database of a tree's balances, as in the database id. */
export interface ChainNames {
  readonly chain: string;
  readonly network: string;
}

/** New value for a leaf of the balance tree; null removes the leaf. */
export interface LeafChange {
  readonly path: RawHash;
  readonly value: RawHash | null;
}

const FRACTION_DIGITS = 18;

/**
 * Returns the path of a balance in the tree, and its value leaf; a balance of zero has none. @throws {PlatformError}
 * STATE_UNENCODABLE
 */
export function balanceLeaf(
  hashes: CommitmentHashes,
  { chain, network }: ChainNames,
  balance: { readonly address: string; readonly tick: string; readonly amount: string | null }
): LeafChange {
  const path = sha256(joinFields([`${hashes.domain}_BAL`, chain, network, balance.address, balance.tick]));
  const amount = balance.amount === null ? null : plainAmount(balance.amount);
  return { path, value: amount === null ? null : hashes.leaf(amount) };
}

/**
 * Returns a stored amount as value leaves have it: plain decimal, no leading zeros, exactly 18 fractional digits; null
 * for zero.
 *
 * @throws {PlatformError} STATE_UNENCODABLE for an amount that is negative, has more places, or is no decimal
 */
export function plainAmount(stored: string): string | null {
  // One repeat at a time: two that may take the same zeros try every place where one could end and the other begin.
  const [, digits, decimals = ''] = /^(\d+)(?:\.(\d*))?$/.exec(stored) ?? [];
  const whole = digits?.replace(/^0+(?=\d)/, '');
  const fraction = withoutTrailingZeros(decimals);
  if (whole === undefined || fraction.length > FRACTION_DIGITS) {
    throw new PlatformError('STATE_UNENCODABLE', {
      reason: `a balance of ${stored.slice(0, 80)} is not a plain decimal of at most ${FRACTION_DIGITS} places`
    });
  }
  return whole === '0' && fraction === '' ? null : `${whole}.${fraction.padEnd(FRACTION_DIGITS, '0')}`;
}

function withoutTrailingZeros(decimals: string): string {
  let end = decimals.length;
  while (decimals[end - 1] === '0') end--;
  return decimals.slice(0, end);
}
