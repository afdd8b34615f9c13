/** Returns the marks that distinguish a source. Two sources that share one are the same. */
export type MarksOf = (source: string) => readonly string[];

/**
 * Returns the value that a strict majority of the sources reports; undefined where there is none.
 *
 * Sources that are the same count once among those that report a value, and once in the total if they report the same
 * one. So a source that falsely claims to be another can neither silence it nor lower the total: where the two differ,
 * both count in the total; where they agree, the false one has given up its own vote.
 *
 * @param sourceCount number of configured sources, those included that report nothing
 */
export function majorityOf<T>(
  reports: ReadonlyMap<string, T>,
  sourceCount: number,
  marksOf: MarksOf = (source) => [source]
): T | undefined {
  const counted = [...Map.groupBy(reports, ([, value]) => value)].map(([value, group]) => {
    const distinct = countDistinct(group.map(([source]) => marksOf(source)));
    return { value, distinct, repeated: group.length - distinct };
  });
  const total = counted.reduce((sum, { repeated }) => sum - repeated, sourceCount);
  return counted.find(({ distinct }) => distinct * 2 > total)?.value;
}

/** Counts the groups of sources that are connected by shared marks. */
function countDistinct(sources: readonly (readonly string[])[]): number {
  const groups: Set<string>[] = [];
  for (const marks of sources) {
    const same = groups.filter((group) => marks.some((mark) => group.has(mark)));
    for (const group of same) groups.splice(groups.indexOf(group), 1);
    groups.push(new Set([...marks, ...same.flatMap((group) => [...group])]));
  }
  return groups.length;
}
