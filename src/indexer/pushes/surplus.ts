import type { PushMethod } from './push.ts';

/** Most prices of one source that wait. A source that sends more loses its own, the oldest first. */
export const MOST_OF_SOURCE = 1_000;

/** Push that waits, without its parameters. Older ones have lower ids. */
export interface QueuedPush {
  readonly id: number;
  readonly method: PushMethod;
  /** Address that reported a price; null for any other push. */
  readonly source: string | null;
}

/**
 * Returns the ids of pushes to drop, so that no source has more than MOST_OF_SOURCE prices and no more than `most` wait
 * in all. Anybody may report prices of tokens: those go first, of the sources with the most, the oldest of each. Rounds
 * of validators go only where no such price is left, the oldest first. What takes reports back stays.
 *
 * @param waiting in the order of their ids
 */
export function surplusOf(waiting: readonly QueuedPush[], most: number): number[] {
  const prices = waiting.filter(({ method }) => method === 'pushoracleprice');
  const rounds = waiting.filter(({ method }) => method === 'pushpriceround');
  const bySource = [...Map.groupBy(prices, ({ source }) => source).values()];
  const room = Math.max(0, most - (waiting.length - prices.length));
  const keptOf = (each: number) => bySource.reduce((sum, own) => sum + Math.min(own.length, each), 0);
  let share = MOST_OF_SOURCE;
  while (keptOf(share) > room) share--;
  // What is left of the room goes to the newest of those that have one price more.
  const further = bySource.flatMap((own) =>
    own.length > share && share < MOST_OF_SOURCE ? [own.at(-1 - share)!] : []
  );
  const kept = new Set(further.sort((a, b) => b.id - a.id).slice(0, room - keptOf(share)));
  const dropped = bySource.flatMap((own) => own.slice(0, Math.max(0, own.length - share)));
  const surplus = waiting.length - prices.length - most;
  return [...dropped.filter((push) => !kept.has(push)), ...rounds.slice(0, Math.max(0, surplus))].map(({ id }) => id);
}
