import type { LiveState } from './live.ts';

/** One page of the console: built once, then told of each look at the service. */
export interface View {
  readonly element: HTMLElement;
  update(state: LiveState): void;
}
