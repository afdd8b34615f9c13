import { byFormat } from '../../rules/action-definition.ts';
import { BALLOT } from './ballot.ts';
import { VOTE_DELEGATION } from './delegation.ts';
import { POLL } from './poll.ts';

/** Polls among the holders of a token, their ballots, and who votes for whom. Format 2 is what closes a poll. */
export const VOTE = byFormat([POLL, BALLOT, VOTE_DELEGATION]);
