import { nameOf, type Subject } from './advance.ts';

/** Names of the subjects that each address follows. */
export type Followed = ReadonlyMap<string, ReadonlySet<string>>;

/** Names of some subjects, each once. */
export const namesOf = (subjects: Iterable<Subject>): ReadonlySet<string> => new Set([...subjects].map(nameOf));

/**
 * Finds the address that gives way while all together would follow too much: the one that follows the most, where that is more than the
 * asker would follow.
 *
 * @param more names that the asker adds
 * @param most subjects that may be followed at once
 * @returns `room` where there is room, null where nobody gives way
 */
export function whoGivesWay(
  followed: Followed,
  { address, more, most }: { readonly address: string; readonly more: ReadonlySet<string>; readonly most: number }
): 'room' | { readonly address: string } | null {
  const all = [...followed.values()].reduce<ReadonlySet<string>>((sum, names) => sum.union(names), more);
  if (all.size <= most) return 'room';
  const [largest] = [...followed].sort(([, a], [, b]) => b.size - a.size);
  const own = (followed.get(address) ?? new Set<string>()).union(more).size;
  return largest && largest[1].size > own ? { address: largest[0] } : null;
}
