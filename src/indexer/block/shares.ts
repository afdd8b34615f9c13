import { readName } from '../../coin/action/names.ts';
import type { Limits } from '../../coin/limits.ts';
import { HANDLERS } from '../actions/handlers.ts';
import { LOOKS_OF_UNIT } from '../rules/checks.ts';
import { type Left, LOOKED, type Looks, noLooks } from '../state/effects.ts';
import type { ChainTransaction } from './block.ts';

/** Units of a block that are kept for each source whose limited actions are still to come. */
export const KEPT_UNITS = 100;

/** Actions that a block without room refuses. */
const LIMITED: ReadonlySet<string> = new Set(
  [...HANDLERS.values()]
    .filter(({ statuses }) => statuses.some((status) => status.endsWith('(block limit)')))
    .map(({ name }) => name)
);

/** Units and looks that somebody has used. */
interface Used {
  units: number;
  readonly looks: Looks;
}
const nothing = (): Used => ({ units: 0, looks: noLooks() });

/**
 * Shares out the units and looks of a block, so that nobody can use them up before others come to their turn.
 *
 * A source may use half of what nobody needs yet: of what is left, less what is kept for each source whose limited
 * actions follow. It may use its equal part of all that is left, if that is more, and all of it when nobody follows.
 * What it has used in the block itself counts as left.
 */
export class Shares {
  readonly #limits: Limits;
  readonly #all = nothing();
  readonly #bySource = new Map<string, Used>();
  /** Place of the last limited action of each source. */
  readonly #last = new Map<string, number>();
  /** Number of sources whose last limited action comes after a transaction, by its place. */
  readonly #following: number[] = [];
  #own = nothing();
  #others = 0;

  constructor(limits: Limits, transactions: readonly ChainTransaction[]) {
    this.#limits = limits;
    for (const [place, { source, data }] of transactions.entries())
      if (LIMITED.has(readName(data)?.name ?? '')) this.#last.set(source, place);
    const lastOnes = new Set(this.#last.values());
    let following = 0;
    for (let place = transactions.length - 1; place >= 0; place--) {
      this.#following[place] = following;
      if (lastOnes.has(place)) following++;
    }
  }

  /** Begins a transaction. @param place its number in the block, from 0 */
  begin(place: number, { source }: Pick<ChainTransaction, 'source'>): void {
    this.#own = this.#bySource.get(source) ?? nothing();
    this.#bySource.set(source, this.#own);
    this.#others = this.#following[place]! - Number((this.#last.get(source) ?? -1) > place);
  }

  /** Begins what is due at the end of the block: nobody follows. */
  end(): void {
    this.#own = nothing();
    this.#others = 0;
  }

  /** Adds what an action has used. @param units 0 for one that left nothing */
  use(units: number, looks: Looks): void {
    for (const used of [this.#all, this.#own]) {
      used.units += units;
      for (const each of LOOKED) used.looks[each] += looks[each];
    }
  }

  /** Units that the block has left. */
  get units(): number {
    return Math.max(0, this.#limits.blockUnits - this.#all.units);
  }

  /** Units and looks that the next action may use. */
  get left(): Left {
    const { blockUnits } = this.#limits;
    const looksLeft = (each: keyof Looks) => {
      const own = this.#own.looks[each];
      return this.#shareOf(blockUnits * LOOKS_OF_UNIT[each] - this.#all.looks[each] + own, LOOKS_OF_UNIT[each]) - own;
    };
    return {
      units: this.#shareOf(blockUnits - this.#all.units + this.#own.units, 1) - this.#own.units,
      looks: Object.fromEntries(LOOKED.map((each) => [each, looksLeft(each)])) as Looks,
      isLast: this.#others === 0
    };
  }

  /** Returns the share of the present source in what is left. @param ofUnit number of such that a unit stands for */
  #shareOf(left: number, ofUnit: number): number {
    if (this.#others === 0) return left;
    const kept = this.#others * KEPT_UNITS * ofUnit;
    return Math.max(Math.floor(left / (this.#others + 1)), Math.floor((left - kept) / 2));
  }
}
