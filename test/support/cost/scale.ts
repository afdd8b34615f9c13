import { DEFAULT_LIMITS, LIMITS, type Limits } from '../../../src/coin/limits.ts';
import type { Rules } from '../../../src/indexer/profile/rules.ts';
import { TEST_RULES } from '../indexer-ledger.ts';

/** Size of a ledger, its limits included, relative to a full one: a full block costs as many times more. */
export interface Scale {
  /** Most bytes of a raw block. */
  readonly blockBytes: number;
  /** Addresses that hold a token, stand in a list, have voted. */
  readonly members: number;
  /** Orders and dispensers of each kind. */
  readonly offers: number;
  /** Tokens of one owner: more than a block may look at. */
  readonly tokens: number;
  readonly limits: Limits;
}

const FULL_BYTES = 1_000_000;
const ADDRESS_DIGITS = 33;

/** A full block divided by a whole number. */
export function scaledBy(divisor: number): Scale {
  // One payment, and one list that is kept whole, are never more than a part of a block: they are not divided as far.
  const least: Partial<Limits> = { emptyDispensers: 1, dispenses: 10 };
  return {
    blockBytes: FULL_BYTES / divisor,
    members: 20_000 / divisor,
    offers: 8_000 / divisor,
    tokens: 160_000 / divisor,
    limits: Object.fromEntries(
      LIMITS.map((name) => [name, Math.max(least[name] ?? 1, DEFAULT_LIMITS[name] / divisor)])
    ) as unknown as Limits
  };
}

/** An address of a usual length. */
export function addressOf(letter: string, number: number): string {
  return letter + String(number).padStart(ADDRESS_DIGITS, '0');
}

/** Rules of a regtest whose addresses are a letter and a long number. */
export function rulesOfScale({ limits }: Pick<Scale, 'limits'>): Rules {
  return {
    ...TEST_RULES,
    limitsAt: () => limits,
    readAddress: (text) => (/^[A-Z]\d{33}$/.test(text) ? text : undefined)
  };
}
