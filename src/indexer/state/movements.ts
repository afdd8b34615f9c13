import { tickKey } from './keys.ts';
import type { Token } from './token.ts';

/** Table of a movement of units. */
export type Movement = 'debits' | 'credits' | 'escrows';
/** All tables of movements. */
export const MOVEMENTS: readonly Movement[] = ['debits', 'credits', 'escrows'];

/** Sums of the movements of tickers, by `tickKey`. */
export type MovedSums = Map<string, TickSums>;
/** Sums of the movements of one ticker. */
export interface TickSums {
  /** Credits less debits. */
  readonly held: bigint;
  readonly escrowed: bigint;
  /** Number of movements in the sums. */
  readonly rows: number;
}

/** Adds sums to others. */
export function addSums(to: MovedSums, more: ReadonlyMap<string, TickSums>): void {
  for (const [tick, sums] of more) add(to, tick, sums);
}

/** Adds one movement of a token to sums. */
export function addMovement(to: MovedSums, movement: Movement, { tick }: Token, amount: bigint): void {
  const [held, escrowed] = movement === 'escrows' ? [0n, amount] : [movement === 'debits' ? -amount : amount, 0n];
  add(to, tickKey(tick), { held, escrowed, rows: 1 });
}

function add(to: MovedSums, tick: string, more: TickSums): void {
  const before = to.get(tick);
  if (!before) to.set(tick, more);
  else
    to.set(tick, {
      held: before.held + more.held,
      escrowed: before.escrowed + more.escrowed,
      rows: before.rows + more.rows
    });
}
