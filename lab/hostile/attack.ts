import type { Arena } from './arena.ts';

/**
 * What somebody tries on a running platform.
 *
 * Each `yield` waits for the next block. What it returns is asked once everything is mined: it throws when the attack had an effect.
 */
export interface Attack {
  /** What must not happen. */
  readonly name: string;
  readonly play: (arena: Arena) => AsyncGenerator<void, () => Promise<void>>;
}
