import { commandsIn } from '../../coin/action/command.ts';
import { DISPENSER_FORMATS } from '../../coin/action/dispenser.ts';
import { type FormatFields, nameFields, readIndex } from '../../coin/action/fields.ts';
import type { AddressVersions } from '../../coin/chains.ts';
import { canonicalAddress } from '../../coin/script/address.ts';
import { parseTokenAmount } from '../../consensus/amount.ts';

/** A dispenser as its action describes it. */
export interface OpenedDispenser {
  /** Address that takes payments; null for the source. */
  readonly address: string | null;
  readonly oracleAddress: string | null;
  /** Unix seconds; null when the action does not say. */
  readonly expiration: number | null;
  /** Least payment that it may serve, in base units. */
  readonly least: bigint;
  /** Set for a command of a BATCH. */
  readonly isInBatch?: true;
}

/** Changes that a transaction makes to dispensers. */
export interface DispenserRows {
  readonly opened: readonly OpenedDispenser[];
  /** Latest expiration that it asks for a dispenser of its source, in Unix seconds; null when it asks for none. */
  readonly extendedTo: number | null;
}

/** Value for a transaction that does not touch dispensers. */
export const NO_DISPENSERS: DispenserRows = { opened: [], extendedTo: null };

const COIN_PLACES = 8;
const TOKEN_PLACES = 18;
const AMOUNT_PER_BASE_UNIT = 10n ** 10n;
/** Greatest amount of an output. */
const MAX_PAYMENT = (2n ** 63n - 1n) * AMOUNT_PER_BASE_UNIT;

/**
 * Reads an action, or the commands of a BATCH, that open or extend dispensers which give and take coins of this chain.
 *
 * Skips openings whose text alone a ledger refuses. A ledger may refuse others, for example because the token does not
 * exist.
 *
 * @param coins names of this chain's coin
 */
export function readDispenser(action: string, coins: readonly string[], versions: AddressVersions): DispenserRows {
  const commands = commandsIn(action);
  const inBatch = commands[0]?.name === 'BATCH' ? ({ isInBatch: true } as const) : {};
  const opened: OpenedDispenser[] = [];
  const extensions: number[] = [];
  for (const { name, format, fields, rest } of commands) {
    if (name !== 'DISPENSER') continue;
    if (format === 0) {
      const found = readOpening(nameFields(fields, DISPENSER_FORMATS[0], rest), coins, versions);
      opened.push(...found.map((dispenser) => ({ ...dispenser, ...inBatch })));
    }
    const expiration =
      format === 2 ? readIndex(nameFields(fields, DISPENSER_FORMATS[2], rest).get('EXPIRATION')) : null;
    if (expiration !== null) extensions.push(expiration);
  }
  return opened.length + extensions.length === 0 ? NO_DISPENSERS : { opened, extendedTo: latest(extensions) };
}

function latest(times: readonly number[]): number | null {
  const last = times.reduce((one, other) => Math.max(one, other), 0);
  return last === 0 ? null : last;
}

/**
 * Reads an opening. @returns an empty list when a ledger refuses it, or when no payment in the chain's coin can be for
 * it
 */
function readOpening({ get }: FormatFields, coins: readonly string[], versions: AddressVersions): OpenedDispenser[] {
  const isHere = ['GIVE_COIN', 'GET_COIN'].every((field) => coins.includes(get(field).toUpperCase()));
  if (!isHere || get('GIVE_TICK') === '' || get('GET_TICK') !== '') return [];
  const isOwnership = get('GIVE_OWNERSHIP') === '1';
  if (!isOwnership && !parseTokenAmount(get('GIVE_AMOUNT'), TOKEN_PLACES)) return [];
  const least = readLeast(get('GET_AMOUNT'));
  const [address, oracleAddress] = ['GET_ADDRESS', 'ORACLE_ADDRESS'].map((field) =>
    get(field) === '' ? null : canonicalAddress(get(field), versions)
  );
  const expiration = readIndex(get('EXPIRATION'));
  const isBadTime = get('EXPIRATION') !== '' && expiration === null;
  if (least === null || address === undefined || oracleAddress === undefined || isBadTime) return [];
  return [{ address, oracleAddress, expiration, least }];
}

/** Returns the least payment in base units, also beside a price in a currency; null when it is invalid. */
function readLeast(amount: string): bigint | null {
  const least = parseTokenAmount(amount, COIN_PLACES);
  return least && least <= MAX_PAYMENT ? least / AMOUNT_PER_BASE_UNIT : null;
}
