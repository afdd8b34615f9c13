import { planRollback } from '../apply/rollback.ts';
import { writeReplicaState } from '../database/state.ts';
import type { Replica } from './replica.ts';

/** Rows may differ in ways that no message tells: the replica is not complete until a comparison finds it equal. */
export async function markMissing({ store }: Pick<Replica, 'store'>): Promise<void> {
  if (store.state.misses && !store.state.complete) return;
  await writeReplicaState(store.writer, { complete: false, misses: true });
  await store.reloadState();
}

/** Whether the journal leads back to a height. Where it does not, going back means to halt, or to load the replica again. */
export async function canUndo({ store, data }: Pick<Replica, 'store' | 'data'>, height: number): Promise<boolean> {
  const own = store.state.height!;
  return own - height <= data.maxRollbackDepth && (await planRollback(store.writer, own, height)) !== null;
}
