import type { Poll } from './poll.ts';

/** Poll as the book has it. */
type BookedPoll = Pick<Poll, 'index' | 'endBlock' | 'isOpen'>;

/** Open polls, by the blocks at whose ends they close. The oldest must be put first. */
export class PollBook {
  readonly #ending = new Map<number, Set<number>>();
  /** Ends of the polls. */
  readonly #endOf = new Map<number, number>();

  /** Adds an open poll, or removes a closed one. */
  put({ index, endBlock, isOpen }: BookedPoll): void {
    if (!isOpen) {
      this.#forget(index);
      return;
    }
    const polls = this.#ending.get(endBlock) ?? new Set();
    polls.add(index);
    this.#ending.set(endBlock, polls);
    this.#endOf.set(index, endBlock);
  }

  /**
   * Removes the polls of some actions, and puts those back that the database has again. @param found open polls of these
   * actions
   */
  restore(actions: readonly number[], found: readonly BookedPoll[]): void {
    for (const index of actions) this.#forget(index);
    for (const poll of found) this.put(poll);
    for (const end of new Set(found.map(({ endBlock }) => endBlock)))
      this.#ending.set(end, new Set([...this.#ending.get(end)!].sort((a, b) => a - b)));
  }

  #forget(index: number): void {
    const end = this.#endOf.get(index);
    if (end === undefined) return;
    this.#endOf.delete(index);
    const polls = this.#ending.get(end)!;
    polls.delete(index);
    if (polls.size === 0) this.#ending.delete(end);
  }

  /** Yields the polls that close at the end of a block, or should have before: by their ends, of the same the oldest first. */
  *ended(height: number): Generator<number> {
    const ends = [...this.#ending.keys()].filter((end) => end <= height).sort((a, b) => a - b);
    for (const end of ends) yield* this.#ending.get(end)!;
  }
}
