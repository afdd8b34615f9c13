/** One word for load balancers; from `halted` to `ready`, the worst of all parts counts. */
export const READINESS = ['halted', 'unavailable', 'starting', 'behind', 'ready'] as const;
export type Readiness = (typeof READINESS)[number];

/** Returns the worst word of several; `starting` for none. */
export function worstOf(words: readonly Readiness[]): Readiness {
  return READINESS.find((word) => words.includes(word)) ?? 'starting';
}
