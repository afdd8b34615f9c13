import { commandsIn } from '../coin/action/command.ts';
import { DISPENSER_FORMATS } from '../coin/action/dispenser.ts';
import { type FormatFields, nameFields, readIndex } from '../coin/action/fields.ts';
import type { AddressVersions } from '../coin/chains.ts';
import { canonicalAddress } from '../coin/script/address.ts';
import { parseTokenAmount } from '../consensus/amount.ts';

/** What a new dispenser says of itself. */
export interface OpenedDispenser {
  /** Where it takes payments; null: at its source. */
  readonly address: string | null;
  readonly oracleAddress: string | null;
  /** Unix seconds; null: it does not say. */
  readonly expiration: number | null;
  /** The least payment that it may serve, in base units. */
  readonly least: bigint;
}

/** What a transaction does to dispensers. */
export interface DispenserRows {
  readonly opened: readonly OpenedDispenser[];
  /** The latest expiration that it asks for one of its source's dispensers, in Unix seconds. */
  readonly extendedTo: number | null;
}

/** Of a transaction that does nothing to dispensers. */
export const NO_DISPENSERS: DispenserRows = { opened: [], extendedTo: null };

const COIN_PLACES = 8;
const TOKEN_PLACES = 18;
const AMOUNT_PER_BASE_UNIT = 10n ** 10n;
/** No output holds more. */
const MAX_PAYMENT = (2n ** 63n - 1n) * AMOUNT_PER_BASE_UNIT;

/**
 * Reads an action, and the commands of a BATCH, as far as they open or extend dispensers that give and take coins of this chain.
 *
 * What a ledger refuses for its text alone opens none. Whether it refuses the rest is not known here: the token may not exist.
 *
 * @param coins  names of this chain's coin
 */
export function readDispenser(action: string, coins: readonly string[], versions: AddressVersions): DispenserRows {
  const opened: OpenedDispenser[] = [];
  const extensions: number[] = [];
  for (const { name, format, fields, rest } of commandsIn(action)) {
    if (name !== 'DISPENSER') continue;
    if (format === 0) opened.push(...readOpening(nameFields(fields, DISPENSER_FORMATS[0], rest), coins, versions));
    if (format === 2) extensions.push(readIndex(nameFields(fields, DISPENSER_FORMATS[2], rest).get('EXPIRATION')) ?? 0);
  }
  return opened.length + extensions.length === 0 ? NO_DISPENSERS : { opened, extendedTo: latest(extensions) };
}

function latest(times: readonly number[]): number | null {
  const last = times.reduce((one, other) => Math.max(one, other), 0);
  return last === 0 ? null : last;
}

/** @returns none where a ledger refuses it, or where no payment in the chain's coin can be for it */
function readOpening({ get }: FormatFields, coins: readonly string[], versions: AddressVersions): OpenedDispenser[] {
  const isHere = ['GIVE_COIN', 'GET_COIN'].every((field) => coins.includes(get(field).toUpperCase()));
  if (!isHere || get('GIVE_TICK') === '' || get('GET_TICK') !== '') return [];
  const isOwnership = get('GIVE_OWNERSHIP') === '1';
  if (!isOwnership && !parseTokenAmount(get('GIVE_AMOUNT'), TOKEN_PLACES)) return [];
  const least = readLeast(get('GET_AMOUNT'), get('FIAT_CODE'));
  const [address, oracleAddress] = ['GET_ADDRESS', 'ORACLE_ADDRESS'].map((field) =>
    get(field) === '' ? null : canonicalAddress(get(field), versions)
  );
  const expiration = readIndex(get('EXPIRATION'));
  const isBadTime = get('EXPIRATION') !== '' && expiration === null;
  if (least === null || address === undefined || oracleAddress === undefined || isBadTime) return [];
  return [{ address, oracleAddress, expiration, least }];
}

/** Where a currency is named, the price decides. */
function readLeast(amount: string, fiat: string): bigint | null {
  if (fiat !== '') return 1n;
  const least = parseTokenAmount(amount, COIN_PLACES);
  return least && least <= MAX_PAYMENT ? least / AMOUNT_PER_BASE_UNIT : null;
}
