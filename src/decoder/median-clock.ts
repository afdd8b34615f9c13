import { DISPENSER_DELAY_S } from '../coin/action/dispenser.ts';
import { MEDIAN_BLOCKS, medianTime } from '../consensus/median-time.ts';

/** Ages that are kept beyond the hour before they are cleared away. */
const SPARE = 1_024;

/** The median times of a chain's newest blocks, back to one for which a dispenser that was cancelled then sells no more. */
export class MedianClock {
  /** As many as a median takes. */
  #times: number[] = [];
  /** They never fall. */
  #medians: number[] = [];
  #from = 0;
  #aged = Number.NEGATIVE_INFINITY;

  /**
   * @param times  of blocks, oldest first, in Unix seconds
   * @param isCut  there are blocks below: the first ones count for the medians of others alone
   */
  constructor(times: readonly number[] = [], isCut = false) {
    const first = isCut ? MEDIAN_BLOCKS - 1 : 0;
    this.#times = times.slice(0, first);
    for (const time of times.slice(first)) this.add(time);
  }

  /** Of the newest block; -Infinity before the first one. */
  get newest(): number {
    return this.#medians.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** The latest one that is an hour older than the newest: what was cancelled up to then has closed. */
  get aged(): number {
    return this.#aged;
  }

  add(time: number): void {
    this.#times = [...this.#times, time].slice(-MEDIAN_BLOCKS);
    this.#medians.push(medianTime(this.#times));
    for (const over = this.newest - DISPENSER_DELAY_S; this.#medians[this.#from]! <= over; this.#from++)
      this.#aged = this.#medians[this.#from]!;
    if (this.#from < SPARE) return;
    this.#medians = this.#medians.slice(this.#from);
    this.#from = 0;
  }
}
