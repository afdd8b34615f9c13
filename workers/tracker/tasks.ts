import type reduceTask from './reduce-changes.ts';
import type scanBlocks from './scan-blocks.ts';

/** The tasks of the tracker. */
export type TrackerTasks = {
  'tracker/scan-blocks': typeof scanBlocks;
  'tracker/reduce-changes': typeof reduceTask;
};
