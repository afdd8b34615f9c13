import type balanceTops from './balance-tops.ts';
import type buildSnapshot from './build-snapshot.ts';
import type merkleEpochs from './merkle-epochs.ts';

/** The tasks of the sync service. */
export type SyncTasks = {
  'sync/balance-tops': typeof balanceTops;
  'sync/build-snapshot': typeof buildSnapshot;
  'sync/merkle-epochs': typeof merkleEpochs;
};
