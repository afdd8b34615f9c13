import { planRollback } from '../apply/rollback.ts';
import { writeReplicaState } from '../database/state.ts';
import type { Replica } from './replica.ts';

/** Marks the replica as incomplete until a comparison finds it equal: rows may differ in ways that no message tells. */
export async function markMissing({ store }: Pick<Replica, 'store'>): Promise<void> {
  if (store.state.misses && !store.state.complete) return;
  await writeReplicaState(store.writer, { complete: false, misses: true });
  await store.reloadState();
}

/** Returns whether the journal leads back to a height. If not, going back means to halt, or to load the replica again. */
export async function canUndo({ store, data }: Pick<Replica, 'store' | 'data'>, height: number): Promise<boolean> {
  const own = store.state.height!;
  return own - height <= data.maxRollbackDepth && (await planRollback(store.writer, own, height)) !== null;
}
