import { parseAmount } from './amount.ts';

/** Parameters that decide what a validator loses. Their bounds are narrower. */
const SLASHING = new Set(['SLASH_DEVIATION_THRESHOLD', 'SLASH_MISSED_ROUNDS_THRESHOLD']);
/** Bounds in percent of the current value, inclusive. */
const BOUNDS = { normal: { least: 67n, most: 150n }, slashing: { least: 80n, most: 125n } } as const;

/**
 * Returns the reason for which a parameter may not be changed to a value at once. The bounds are +50 % and -33 %, of
 * slashing parameters +25 % and -20 %, in any case of the name. The comparison is exact, so 0 stays 0. A plain decimal
 * stays one, and a text stays a text: a number in another form would have no bounds.
 *
 * @returns null when it may
 * @see the section "Limits" of the specification
 */
export function findChangeFault(parameter: string, current: string, proposed: string): string | null {
  const [from, to] = [parseAmount(current), parseAmount(proposed)];
  if (from === null || to === null) {
    const odd = [current, proposed].find((text) => parseAmount(text) === null && isNumber(text));
    if (odd !== undefined) return `${parameter} is a number: write ${odd} as a plain decimal, such as 1500 or 0.5`;
    return from === to ? null : `${parameter} is ${from === null ? 'no' : 'a'} number, and stays so: not ${proposed}`;
  }
  const { least, most } = BOUNDS[SLASHING.has(parameter.toUpperCase()) ? 'slashing' : 'normal'];
  if (to * 100n >= from * least && to * 100n <= from * most) return null;
  return `${parameter} may change from ${current} by +${most - 100n} % or -${100n - least} % at most, not to ${proposed}`;
}

/** Returns whether a program may read a text as a number, in whatever form. */
const isNumber = (text: string): boolean => !Number.isNaN(Number(text)) || /^\s*[-+]?\d/.test(text);
