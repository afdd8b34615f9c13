import type { Arena } from './arena.ts';

/**
 * An attack on a running platform.
 *
 * Each `yield` waits for the next block. What it returns is asked once everything is mined: it throws when the attack had an
 * effect.
 */
export interface Attack {
  /** Effect that must not happen. */
  readonly name: string;
  readonly play: (arena: Arena) => AsyncGenerator<void, () => Promise<void>>;
}
