import { createHash } from 'node:crypto';
import type { MeshLimits } from './options.ts';

/**
 * Returns the members that a hub dials: all others in a small set, else those of rendezvous hashing, where a member that leaves
 * changes no other choice.
 *
 * @see Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998
 */
export function outboundOf(
  own: string,
  members: Iterable<string>,
  { fullMesh, outbound }: Pick<MeshLimits, 'fullMesh' | 'outbound'>
): ReadonlySet<string> {
  const others = [...members].filter((key) => key !== own);
  if (others.length < fullMesh) return new Set(others);
  const ranked = others
    .map((key) => ({ key, rank: createHash('sha256').update(`${own} ${key}`).digest('hex') }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  return new Set(ranked.slice(0, outbound).map(({ key }) => key));
}
