import { ACTION_LISTS } from './actions.ts';
import { CHAIN_LISTS } from './chains.ts';
import { CONTRACT_LISTS } from './contracts.ts';
import { withDetails } from './details.ts';
import { HUB_LISTS } from './hubs.ts';
import type { List } from './list.ts';
import { MARKET_LISTS } from './markets.ts';
import { NOTE_LISTS } from './notes.ts';
import { OFFER_LISTS } from './offers.ts';
import { STAKE_LISTS } from './stakes.ts';
import { STATE_LISTS } from './state.ts';
import { VOTE_LISTS } from './votes.ts';

const PLAIN: Readonly<Record<string, List>> = {
  ...STATE_LISTS,
  ...ACTION_LISTS,
  ...OFFER_LISTS,
  ...NOTE_LISTS,
  ...VOTE_LISTS,
  ...STAKE_LISTS,
  ...CONTRACT_LISTS,
  ...CHAIN_LISTS,
  ...MARKET_LISTS,
  ...HUB_LISTS
};

/** Tells actions apart by what they did. */
export const DETAILS = withDetails(PLAIN);

/** Every list, by its method. */
export const LISTS: Readonly<Record<string, List>> = {
  ...PLAIN,
  history: { ...ACTION_LISTS.history, more: DETAILS },
  actions: { ...ACTION_LISTS.actions, more: DETAILS }
};

/** Returns whether the specification requires a list's `{type}`; of all others a path may leave it out. */
export const needsType = ({ usual, types }: List): boolean => usual === undefined && Object.keys(types).length > 0;
