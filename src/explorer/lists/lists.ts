import { ACTION_LISTS } from './actions.ts';
import type { List } from './list.ts';
import { STATE_LISTS } from './state.ts';

/** Every list, by its method. */
export const LISTS: Readonly<Record<string, List>> = { ...STATE_LISTS, ...ACTION_LISTS };

/** Lists whose `{type}` the specification requires; of all others a path may leave it out. */
export const needsType = ({ usual, types }: List): boolean => usual === undefined && Object.keys(types).length > 0;
