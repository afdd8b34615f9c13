import type { Poll } from './poll.ts';
import { SortedChunks } from './sorted-chunks.ts';

/** Poll as the book has it. */
type BookedPoll = Pick<Poll, 'index' | 'endBlock' | 'isOpen'>;

const FEWEST_SLOTS = 1_024;
const PRICELESS = { priceOf: () => 0n };

/**
 * Open polls, by the blocks at whose ends they close.
 *
 * Anybody may open a poll with 19 bytes of a BATCH, for months. Their numbers are outside the heap, a slot each, and the
 * sorted lists hold slots. A `Map` takes no more than 2^24 keys, and throws.
 */
export class PollBook {
  #used = 0;
  readonly #free: number[] = [];
  #index = new Float64Array(FEWEST_SLOTS);
  #end = new Float64Array(FEWEST_SLOTS);
  readonly #byIndex = new SortedChunks<number>({ ...PRICELESS, compare: (a, b) => this.#compareAges(a, b) });
  readonly #byEnd = new SortedChunks<number>({
    ...PRICELESS,
    compare: (a, b) => this.#end[a]! - this.#end[b]! || this.#compareAges(a, b)
  });

  /** Adds an open poll, or removes a closed one. */
  put({ index, endBlock, isOpen }: BookedPoll): void {
    const known = this.#slotOf(index);
    if (known !== undefined && isOpen && this.#end[known] === endBlock) return; // a ballot changes a poll, not its end
    if (known !== undefined) this.#remove(known);
    if (isOpen) this.#add(index, endBlock);
  }

  /**
   * Removes the polls of some actions, and puts those back that the database has again. @param found open polls of these
   * actions
   */
  restore(actions: readonly number[], found: readonly BookedPoll[]): void {
    for (const index of actions) {
      const slot = this.#slotOf(index);
      if (slot !== undefined) this.#remove(slot);
    }
    for (const poll of found) this.put(poll);
  }

  /** Yields the polls that close at the end of a block, or should have before: by their ends, of the same the oldest first. */
  *ended(height: number): Generator<number> {
    for (const slot of this.#byEnd.from(() => false)) {
      if (this.#end[slot]! > height) return;
      yield this.#index[slot]!;
    }
  }

  #add(index: number, endBlock: number): void {
    const slot = this.#free.pop() ?? this.#used++;
    if (slot >= this.#index.length) this.#grow();
    this.#index[slot] = index;
    this.#end[slot] = endBlock;
    this.#byIndex.add(slot);
    this.#byEnd.add(slot);
  }

  #remove(slot: number): void {
    this.#byIndex.delete(slot);
    this.#byEnd.delete(slot);
    this.#free.push(slot);
  }

  #slotOf(index: number): number | undefined {
    for (const slot of this.#byIndex.from((other) => this.#index[other]! < index))
      return this.#index[slot] === index ? slot : undefined;
    return undefined;
  }

  #compareAges(a: number, b: number): number {
    return this.#index[a]! - this.#index[b]!;
  }

  #grow(): void {
    const [index, end] = [this.#index, this.#end];
    this.#index = new Float64Array(2 * index.length);
    this.#end = new Float64Array(2 * end.length);
    this.#index.set(index);
    this.#end.set(end);
  }
}
