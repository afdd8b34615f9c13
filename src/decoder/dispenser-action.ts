import type { AddressVersions } from '../coin/chains.ts';
import { canonicalAddress } from '../coin/script/address.ts';

/** What a new dispenser says of itself. */
export interface OpenedDispenser {
  /** Where it takes payments; null: at its source. */
  readonly address: string | null;
  readonly oracleAddress: string | null;
  /** Unix seconds; null: it does not say. */
  readonly expiration: number | null;
}

/** What a transaction does to dispensers. */
export interface DispenserRows {
  readonly opened: OpenedDispenser | null;
  /** A new expiration of all dispensers of its source, in Unix seconds. */
  readonly extendedTo: number | null;
}

/** Places of the fields behind the version. */
const OPENING = { giveCoin: 0, getCoin: 5, getAddress: 8, oracleAddress: 11, expiration: 12 };
const EDIT = { expiration: 2 };
/** Of a transaction that does nothing to dispensers. */
export const NO_DISPENSERS: DispenserRows = { opened: null, extendedTo: null };

/**
 * Reads an action as far as it opens or extends a dispenser that gives and takes coins of this chain.
 *
 * @param coins  names of this chain's coin
 */
export function readDispenser(action: string, coins: readonly string[], versions: AddressVersions): DispenserRows {
  const [name, version, ...fields] = action.split('|');
  if (name !== 'DISPENSER') return NO_DISPENSERS;
  if (version === '2') return { opened: null, extendedTo: readTime(fields[EDIT.expiration]) };
  if (version !== '0') return NO_DISPENSERS;
  const [address, oracleAddress] = [fields[OPENING.getAddress], fields[OPENING.oracleAddress]].map((text) =>
    text ? canonicalAddress(text, versions) : null
  );
  const isHere = [fields[OPENING.giveCoin], fields[OPENING.getCoin]].every((coin) => coins.includes(coin ?? ''));
  if (!isHere || address === undefined || oracleAddress === undefined) return NO_DISPENSERS;
  return { opened: { address, oracleAddress, expiration: readTime(fields[OPENING.expiration]) }, extendedTo: null };
}

function readTime(field: string | undefined): number | null {
  return field !== undefined && /^[1-9]\d{0,14}$/.test(field) ? Number(field) : null;
}
