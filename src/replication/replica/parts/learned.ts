import type { Learned } from '../../../wire/data/messages.ts';
import { markMissing } from './doubt.ts';
import type { Replica } from './replica.ts';

/**
 * Takes note of what the followed source does not know of what it sent. A replica that it concerns is not complete until a comparison
 * finds it equal.
 *
 * @param learned as the source says it; absent: it knows what it sent, or does not say
 * @returns whether a comparison is needed that was not needed before
 */
export async function heedLearned(
  { store, sources }: Pick<Replica, 'store' | 'sources'>,
  learned: Learned | null | undefined
): Promise<boolean> {
  const before = sources.learned;
  sources.learned = learned?.id ?? null;
  const { height, misses, learned: known } = store.state;
  if (!learned || height === null || height > learned.height || known === learned.id) return false;
  // A comparison under way was begun before the source learned this.
  if (misses) return before !== learned.id;
  await markMissing({ store });
  return true;
}
