import { parseSum } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';

const WHOLE = /^-?\d{1,15}$/;

/**
 * Reads a signed decimal of the database, as long as MariaDB's sums may be, as a count of 10^-18.
 *
 * @throws {PlatformError} LEDGER_INSANE for any other value, NULL included
 */
export function readDecimal(value: unknown): bigint {
  return parseSum(value) ?? refuse(value, 'an amount');
}

/** Reads a signed decimal as a count of 10^-18; NULL is 0. @throws {PlatformError} LEDGER_INSANE for any other value */
export function readDecimalOr0(value: unknown): bigint {
  return value == null ? 0n : readDecimal(value);
}

/** Reads a whole number of the database. @throws {PlatformError} LEDGER_INSANE for any other value, NULL included */
export function readWhole(value: unknown): number {
  return WHOLE.test(String(value)) ? Number(value) : refuse(value, 'a whole number');
}

/** Reads a whole number of the database; NULL stays null. @throws {PlatformError} LEDGER_INSANE for any other value */
export function readWholeOrNull(value: unknown): number | null {
  return value == null ? null : readWhole(value);
}

function refuse(value: unknown, wanted: string): never {
  const found = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
  throw new PlatformError('LEDGER_INSANE', { reason: `the database has ${found} where ${wanted} is expected` });
}
