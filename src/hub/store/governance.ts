import { proposalMachine } from '../../../machines/hub/proposal.ts';
import { type Connection, rows, type SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { selectBitcoinHeight } from './chain-tips.ts';
import { stateAfter } from './decide.ts';
import { findProposalFault } from './proposal-rules.ts';

export const PROPOSAL_STATES = ['voting', 'passed', 'failed', 'expired'] as const;

/** A proposal as methods answer with it. */
export interface Proposal extends SqlRow {
  readonly id: number;
  readonly proposer_pubkey: string;
  readonly proposal_id: string;
  readonly parameter: string;
  readonly current_value: string | null;
  readonly proposed_value: string;
  readonly rationale: string | null;
  readonly status: (typeof PROPOSAL_STATES)[number];
  /** Epoch milliseconds, as the times below. */
  readonly voting_start: number;
  readonly voting_end: number;
  readonly decided_at: number | null;
  /** JSON: who may vote. */
  readonly validator_snapshot: string;
  /** Block of Bitcoin; null when its tip is not known. */
  readonly activation_block: number | null;
  readonly approvals: number;
  readonly rejections: number;
}

export interface Vote extends SqlRow {
  readonly proposal_id: string;
  readonly id: number;
  readonly voter_pubkey: string;
  readonly vote: 'approve' | 'reject';
  readonly signature: string | null;
  /** Its place among all votes. */
  readonly vote_seq: number;
  readonly created_at: string;
}

/** Selection of votes. */
interface VotesAsked {
  readonly proposal_id: string | null;
  readonly voter_pubkey: string | null;
  readonly limit: number;
}

interface NewProposal {
  readonly parameter: string;
  readonly current_value: string | null;
  readonly proposed_value: string;
  readonly rationale: string | null;
  readonly at: number;
  readonly votingPeriodMs: number;
  /** The hub's own setting under this name; null: it has no such setting. */
  readonly setting: string | null;
}

/** Without consensus the hub alone is the electorate. */
export const THIS_HUB = 'standalone';
const ELECTORATE = [THIS_HUB];
const BITCOIN_BLOCK_MS = 600_000;
/** Most proposals: of those that are past, fewer are kept. */
const MOST_PROPOSALS = 20_000;
/** Proposals that are read at once, as some may be left out. */
const LEAST_AT_ONCE = 100;

const SELECT = `SELECT id, proposal_id, proposer_pubkey, parameter, current_value, proposed_value,
       rationale, status, voting_start, voting_end, decided_at,
       activation_block, validator_snapshot,
       (SELECT COUNT(*) FROM governance_votes v WHERE v.proposal_id = p.proposal_id AND v.vote = 'approve') AS approvals,
       (SELECT COUNT(*) FROM governance_votes v WHERE v.proposal_id = p.proposal_id AND v.vote = 'reject') AS rejections
  FROM governance_proposals p`;

/** Reads the newest ones as they are at a time, whether or not their end was written down yet. */
export async function selectProposals(
  connection: Connection,
  {
    status,
    parameter = null,
    limit,
    at
  }: {
    readonly status: Proposal['status'] | null;
    readonly parameter?: string | null;
    readonly limit: number;
    readonly at: number;
  }
): Promise<Proposal[]> {
  const found: Proposal[] = [];
  const atOnce = Math.max(limit, LEAST_AT_ONCE);
  for (let offset = 0; ; offset += atOnce) {
    // Of those that it has as open, the database does not know yet which are over.
    const page = await rows<Proposal>(
      connection,
      `${SELECT} WHERE (? IS NULL OR status IN (?, 'voting')) AND (? IS NULL OR UPPER(parameter) = UPPER(?))
       ORDER BY id DESC LIMIT ? OFFSET ?`,
      [status, status, parameter, parameter, atOnce, offset]
    );
    const settled = page.map((proposal) => asOf(proposal, at));
    for (const proposal of settled) if (status === null || proposal.status === status) found.push(proposal);
    if (found.length >= limit || page.length < atOnce) return found.slice(0, limit);
  }
}

/** @throws {PlatformError} RECORD_UNKNOWN */
export async function selectProposal(connection: Connection, proposal_id: string, at: number): Promise<Proposal> {
  const [found] = await rows<Proposal>(connection, `${SELECT} WHERE proposal_id = ?`, [proposal_id]);
  if (found) return asOf(found, at);
  throw new PlatformError('RECORD_UNKNOWN', { reason: `no proposal has the id ${proposal_id}` });
}

/** Returns the votes on one proposal, or of one voter; null: on or of any. */
export const selectVotes = (
  connection: Connection,
  { proposal_id, voter_pubkey, limit }: VotesAsked
): Promise<Vote[]> =>
  rows<Vote>(
    connection,
    `SELECT id, proposal_id, voter_pubkey, vote, signature, id AS vote_seq, created_at FROM governance_votes
     WHERE (? IS NULL OR proposal_id = ?) AND (? IS NULL OR voter_pubkey = ?) ORDER BY id LIMIT ?`,
    [proposal_id, proposal_id, voter_pubkey, voter_pubkey, limit]
  );

/** Opens the voting. @throws {PlatformError} PROPOSAL_REFUSED */
export async function insertProposal(connection: Connection, proposal: NewProposal): Promise<Proposal> {
  const { parameter, proposed_value, rationale, at, votingPeriodMs } = proposal;
  const earlier = await settleEarlier(connection, parameter, at);
  const inForce = earlier.find(({ status }) => status === 'passed')?.proposed_value ?? proposal.setting ?? undefined;
  const { current_value: currentValue } = proposal;
  const fault = findProposalFault(
    { parameter, currentValue, proposedValue: proposed_value, at },
    earlier.map(({ proposal_id: id, status, voting_end: votingEnd, decided_at: decidedAt }) => ({
      id,
      status,
      votingEnd,
      decidedAt
    })),
    inForce
  );
  if (fault !== null) throw new PlatformError('PROPOSAL_REFUSED', { reason: fault });
  const [counted] = await rows<{ n: number }>(connection, 'SELECT COUNT(*) AS n FROM governance_proposals');
  if (Number(counted?.n ?? 0) >= MOST_PROPOSALS)
    throw new PlatformError('PROPOSAL_REFUSED', {
      reason: `the hub keeps ${MOST_PROPOSALS} proposals, and has as many`
    });
  const height = await selectBitcoinHeight(connection);
  const proposal_id = `gov:${parameter}:${at}`;
  await connection.query('INSERT INTO governance_proposals SET ?', {
    proposal_id,
    proposer_pubkey: THIS_HUB,
    parameter,
    current_value: inForce ?? proposal.current_value,
    proposed_value,
    rationale,
    status: 'voting',
    voting_start: at,
    voting_end: at + votingPeriodMs,
    activation_block: height === null ? null : height + Math.ceil(votingPeriodMs / BITCOIN_BLOCK_MS),
    validator_snapshot: JSON.stringify(ELECTORATE)
  });
  return await selectProposal(connection, proposal_id, at);
}

/** Counts a vote, and decides when it can. @throws {PlatformError} RECORD_UNKNOWN, PROPOSAL_REFUSED */
export async function insertVote(
  connection: Connection,
  proposal_id: string,
  vote: Vote['vote'],
  at: number
): Promise<Proposal> {
  const { status } = await selectProposal(connection, proposal_id, at);
  if (status !== 'voting')
    throw new PlatformError('PROPOSAL_REFUSED', { reason: `${proposal_id} is ${status}: there is nothing to vote on` });
  await connection.query('INSERT INTO governance_votes SET ?', {
    proposal_id,
    voter_pubkey: THIS_HUB,
    vote
  });
  return await settle(connection, await selectProposal(connection, proposal_id, at), at);
}

/**
 * Returns earlier proposals for a parameter, in any case of its name, newest first. It writes down the end of each that is over.
 */
async function settleEarlier(connection: Connection, parameter: string, at: number): Promise<Proposal[]> {
  const found = await rows<Proposal>(connection, `${SELECT} WHERE UPPER(parameter) = UPPER(?) ORDER BY id DESC`, [
    parameter
  ]);
  const settled = [];
  for (const proposal of found) settled.push(await settle(connection, asOf(proposal, at), at));
  return settled;
}

async function settle(connection: Connection, proposal: Proposal, at: number): Promise<Proposal> {
  if (proposal.status === 'voting' || proposal.decided_at !== null) return proposal;
  const decided_at = Math.min(at, proposal.voting_end);
  await connection.query('UPDATE governance_proposals SET status = ?, decided_at = ? WHERE proposal_id = ?', [
    proposal.status,
    decided_at,
    proposal.proposal_id
  ]);
  return { ...proposal, decided_at };
}

/** Returns a stored proposal with the state that its votes and a time lead to. */
function asOf(proposal: Proposal, at: number): Proposal {
  if (proposal.status !== 'voting') return proposal;
  const { approvals, rejections, voting_end, validator_snapshot } = proposal;
  const { length: electorate } = JSON.parse(validator_snapshot) as readonly string[];
  const input = { electorate, approvals, rejections };
  const status = stateAfter(proposalMachine, input, at >= voting_end ? [{ type: 'voting.ended' }] : []);
  return { ...proposal, status: status as Proposal['status'] };
}
