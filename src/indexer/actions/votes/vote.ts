import { byFormat } from '../../rules/action-definition.ts';
import { BALLOT } from './ballot.ts';
import { VOTE_DELEGATION } from './delegation.ts';
import { POLL } from './poll.ts';

/**
 * Polls among the holders of a token, their ballots, and delegations of votes. Format 2 is the action that closes a
 * poll.
 */
export const VOTE = byFormat([POLL, BALLOT, VOTE_DELEGATION]);
