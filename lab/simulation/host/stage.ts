import type { MemoryFiles } from './files.ts';
import type { Network } from './network.ts';
import type { Scheduler } from './scheduler.ts';
import type { ThreadWatch } from './threads.ts';

/** Base of the doubles of one episode. */
export interface Stage {
  scheduler: Scheduler;
  network: Network;
  files: MemoryFiles;
  /** Sees what threads do. */
  watch: ThreadWatch;
}

/** Set by each episode before anything runs. */
export const stage = {} as Stage;
