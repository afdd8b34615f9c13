import type { Replica } from './replica.ts';

/** The marker's fields that say who sent its last block: the followed source, in its present life. */
export function senderOf({ sources }: Pick<Replica, 'sources'>): {
  readonly source: string;
  readonly life: string | null;
} {
  return { source: sources.client.url, life: sources.lives.at(-1)?.id ?? null };
}

/** Returns whether a source that gives itself this life is the one of the live stream, and not another server behind the same name. */
export function isOfStream({ sources }: Pick<Replica, 'sources'>, life: string | null): boolean {
  return life === null || sources.lives.length === 0 || sources.lives.some(({ id }) => id === life);
}

/**
 * Returns whether the followed source may have read the replica's block at another moment than the one that sent it, with rows that
 * changed meanwhile: another source, another server behind the same name, or one that continued at an earlier block than it had sent.
 */
export function isOfOther({ store, sources }: Pick<Replica, 'store' | 'sources'>): boolean {
  const { source, life, height } = store.state;
  const { lives } = sources;
  if (source === null || height === null) return false;
  if (source !== sources.client.url) return true;
  if (life === null || lives.length === 0) return false;
  const at = lives.findIndex(({ id }) => id === life);
  const next = lives[at + 1];
  return at < 0 || (next !== undefined && next.from < height);
}
