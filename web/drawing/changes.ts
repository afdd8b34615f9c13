import type { Facts } from '../../src/wire/state/transition.ts';

/** Returns what changed from one context to another: `height 41 → 42`; of a new value what it is. */
export function changesOf(before: Facts | undefined, after: Facts | undefined): string {
  return Object.entries(after ?? {})
    .map(([name, value]) => [name, written(before?.[name]), written(value)] as const)
    .filter(([, was, is]) => was !== is)
    .map(([name, was, is]) => (was === undefined ? `${name} ${is}` : `${name} ${was} → ${is}`))
    .join(', ');
}

/** Returns each fact with its name: `height 42, errors 0`. */
export const factsText = (facts: Facts | undefined): string => changesOf(undefined, facts);

function written(value: Facts[string] | undefined): string | undefined {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
