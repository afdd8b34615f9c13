import { proposalMachine } from '../../../../machines/hub/proposal.ts';
import { stateAfter } from '../../store/decide.ts';
import { findProposalFault } from '../../store/proposal-rules.ts';
import type { MatterStep } from './operations.ts';
import type { Matter, Proposal } from './records.ts';
import type { MatterFacts, MatterRules } from './rules.ts';

type StepOf<T extends MatterStep['type']> = Extract<MatterStep, { type: T }>;

/** Opens the voting on a new value of a parameter: all hubs of the set may vote. */
export function beginProposal(
  rules: MatterRules,
  facts: MatterFacts,
  submitter: string,
  { parameter, currentValue, proposedValue, rationale }: StepOf<'propose'>,
  time: number
): readonly Matter[] | string {
  const earlier = facts.matters
    .filter((matter): matter is Proposal => matter.kind === 'proposal')
    .filter((one) => one.parameter.toUpperCase() === parameter.toUpperCase())
    .toSorted((a, b) => b.number - a.number);
  const inForce = valueInForce(rules, earlier, parameter);
  const fault = findProposalFault({ parameter, currentValue, proposedValue, at: time }, earlier, inForce);
  if (fault !== null) return fault;
  const id = `gov:${parameter}:${time}`;
  if (earlier.some((one) => one.id === id)) return `the log has a proposal ${id}`;
  const begun: Proposal = {
    kind: 'proposal',
    id,
    number: facts.next,
    submitter,
    begunAt: time,
    endsAt: time + rules.votingPeriodMs,
    decidedAt: null,
    parameter,
    currentValue: inForce ?? currentValue,
    proposedValue,
    rationale,
    status: 'voting',
    votingEnd: time + rules.votingPeriodMs,
    electorate: rules.keys,
    votes: []
  };
  return [begun];
}

/** Counts a hub's vote, once. @param sig  of the operation that has it */
export function castVote(
  facts: MatterFacts,
  { submitter: hub, sig }: { readonly submitter: string; readonly sig: string },
  { id, approves }: StepOf<'vote'>,
  time: number
): readonly Matter[] | string {
  const known = facts.matters.find((matter): matter is Proposal => matter.kind === 'proposal' && matter.id === id);
  if (!known) return `no proposal has the id ${id}`;
  if (known.status !== 'voting') return `${id} is ${known.status}: there is nothing to vote on`;
  if (!known.electorate.includes(hub)) return `this hub may not vote on ${id}`;
  if (known.votes.some((vote) => vote.hub === hub)) return `this hub has voted on ${id}`;
  const voted: Proposal = { ...known, votes: [...known.votes, { hub, approves, sig, at: time }] };
  const status = statusOf(voted);
  return [status === 'voting' ? voted : { ...voted, status, endsAt: null, decidedAt: time }];
}

/** Ends the voting on a proposal. */
export function endVoting(proposal: Proposal, time: number): Proposal {
  return { ...proposal, status: statusOf(proposal, true), endsAt: null, decidedAt: time };
}

function statusOf({ electorate, votes }: Proposal, isOver = false): Proposal['status'] {
  const approvals = votes.filter(({ approves }) => approves).length;
  const input = { electorate: electorate.length, approvals, rejections: votes.length - approvals };
  return stateAfter(proposalMachine, input, isOver ? [{ type: 'voting.ended' }] : []) as Proposal['status'];
}

/** Returns the value that a parameter has; undefined where the log does not know one. @param earlier  newest first */
function valueInForce({ settings }: MatterRules, earlier: readonly Proposal[], parameter: string): string | undefined {
  return earlier.find(({ status }) => status === 'passed')?.proposedValue ?? settings.get(parameter.toUpperCase());
}
