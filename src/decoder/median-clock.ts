import { DISPENSER_DELAY_S } from '../coin/action/dispenser.ts';
import { MEDIAN_BLOCKS, medianTime } from '../consensus/median-time.ts';

/** Medians to keep beyond the hour before old ones are removed. */
const SPARE = 1_024;

/** Median times of a chain's newest blocks, back to the latest at which a cancelled dispenser no longer sells. */
export class MedianClock {
  /** Times of the last blocks, as many as a median needs. */
  #times: number[] = [];
  /** Medians, which never decrease. */
  #medians: number[] = [];
  #from = 0;
  #aged = Number.NEGATIVE_INFINITY;

  /**
   * @param times of blocks, oldest first, in Unix seconds
   * @param isCut whether blocks below are missing: the first times then only serve for later medians
   */
  constructor(times: readonly number[] = [], isCut = false) {
    const first = isCut ? MEDIAN_BLOCKS - 1 : 0;
    this.#times = times.slice(0, first);
    for (const time of times.slice(first)) this.add(time);
  }

  /** Median of the newest block; -Infinity before the first one. */
  get newest(): number {
    return this.#medians.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** Latest median that is at least an hour older than the newest: dispensers cancelled up to then have closed. */
  get aged(): number {
    return this.#aged;
  }

  /** Adds the time of the next block, in Unix seconds. */
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
