import type { LiveState } from '../live.ts';

/** One page of the console: built once, then told of each look at the service. */
export interface View {
  readonly element: HTMLElement;
  /** Whether it shows what happened, and not only what is. */
  readonly showsEntries?: true;
  update(state: LiveState): void;
}
