import type { Poll } from './poll.ts';

/** Open polls, by the blocks at whose ends they close. The oldest must be put first. */
export class PollBook {
  readonly #ending = new Map<number, Set<number>>();

  /** Adds an open poll, or removes a closed one. */
  put({ index, endBlock, isOpen }: Pick<Poll, 'index' | 'endBlock' | 'isOpen'>): void {
    const polls = this.#ending.get(endBlock) ?? new Set();
    if (isOpen) polls.add(index);
    else polls.delete(index);
    if (polls.size > 0) this.#ending.set(endBlock, polls);
    else this.#ending.delete(endBlock);
  }

  /** Yields the polls that close at the end of a block, or should have before: by their ends, of the same the oldest first. */
  *ended(height: number): Generator<number> {
    const ends = [...this.#ending.keys()].filter((end) => end <= height).sort((a, b) => a - b);
    for (const end of ends) yield* this.#ending.get(end)!;
  }
}
