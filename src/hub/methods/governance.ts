import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { PROPOSAL_STATES, type Proposal, THIS_HUB } from '../store/governance.ts';
import {
  CountSchema,
  checkTexts,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  LimitSchema,
  Nullable,
  OneOf,
  TimeSchema
} from './common.ts';

const Parameter = Type.String({ pattern: '^[\\x21-\\x7e]{1,255}$' });
const Value = Type.String({ minLength: 1, maxLength: 255 });
const ProposalId = Type.String({ minLength: 1, maxLength: 288 });
const VoteWord = OneOf(['approve', 'reject']);

const ProposalSchema = Type.Object({
  id: CountSchema,
  proposer_pubkey: Type.String(),
  proposal_id: ProposalId,
  parameter: Parameter,
  current_value: Nullable(Value),
  proposed_value: Value,
  rationale: Nullable(Type.String()),
  status: OneOf(PROPOSAL_STATES),
  voting_start: TimeSchema,
  voting_end: TimeSchema,
  created_at: TimeSchema,
  decided_at: Nullable(TimeSchema),
  applied_at: Nullable(TimeSchema),
  validator_snapshot: Type.String({ description: 'JSON: who may vote' }),
  activation_block: Nullable(CountSchema),
  approvals: CountSchema,
  rejections: CountSchema
});

/**
 * Returns the methods by which parameters are changed. Without consensus this hub is the whole electorate, so its vote
 * decides.
 *
 * @param votingPeriodMs GOV_VOTING_PERIOD
 * @param settings the hub's own, by their names: the numbers among them are the current values of parameters of these names
 */
export function governanceMethods(
  database: HubDatabase,
  { votingPeriodMs, settings }: { readonly votingPeriodMs: number; readonly settings: object }
): Readonly<Record<string, RpcMethod>> {
  const numbers = new Map(Object.entries(settings).filter(([, value]) => typeof value === 'number'));
  return {
    propose: rpcMethod({
      summary: 'Opens the voting on a new value of a parameter',
      params: Type.Object(
        {
          parameter: Parameter,
          current_value: Type.Optional(Value),
          proposed_value: Value,
          rationale: Type.Optional(Type.String({ maxLength: 2_000 }))
        },
        closed
      ),
      result: Type.Pick(ProposalSchema, ['proposal_id', 'parameter', 'status', 'voting_end', 'activation_block']),
      write: true,
      errors: [...DATABASE_ERRORS, 'PROPOSAL_REFUSED'],
      async run({ parameter, current_value = null, proposed_value, rationale = null }) {
        checkTexts({ current_value, proposed_value, rationale });
        const proposal = {
          parameter,
          current_value,
          proposed_value,
          rationale,
          at: Date.now(),
          votingPeriodMs,
          setting: numbers.get(parameter.toUpperCase())?.toString() ?? null
        };
        const { proposal_id, status, voting_end, activation_block } = await database.write('insertProposal', proposal);
        return { proposal_id, parameter, status, voting_end: timeText(voting_end), activation_block };
      }
    }),
    vote: rpcMethod({
      summary: 'Votes on a proposal',
      params: Type.Object({ proposal_id: ProposalId, vote: VoteWord }, closed),
      result: Type.Object({ proposal_id: ProposalId, vote: VoteWord, voter_pubkey: Type.String() }),
      write: true,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN', 'PROPOSAL_REFUSED'],
      async run({ proposal_id, vote }) {
        await database.write('insertVote', proposal_id, vote, Date.now());
        return { proposal_id, vote, voter_pubkey: THIS_HUB };
      }
    }),
    getproposals: rpcMethod({
      summary: 'The newest proposals',
      params: Type.Object({
        status: Type.Optional(OneOf(PROPOSAL_STATES)),
        parameter: Type.Optional(Parameter),
        limit: LimitSchema
      }),
      result: Type.Array(ProposalSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: async ({ status = null, parameter = null, limit = DEFAULT_LIMIT }) =>
        (await database.read('selectProposals', { status, parameter, limit, at: Date.now() })).map(withTimes)
    }),
    getproposal: rpcMethod({
      summary: 'One proposal',
      params: Type.Object({ proposal_id: ProposalId }),
      result: ProposalSchema,
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      run: async ({ proposal_id }) => withTimes(await database.read('selectProposal', proposal_id, Date.now()))
    }),
    getvotes: rpcMethod({
      summary: 'The votes on a proposal, in their order',
      params: Type.Object({
        proposal_id: Type.Optional(ProposalId),
        voter_pubkey: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        limit: LimitSchema
      }),
      result: Type.Array(
        Type.Object({
          id: CountSchema,
          proposal_id: ProposalId,
          voter_pubkey: Type.String(),
          vote: VoteWord,
          signature: Nullable(Type.String()),
          vote_seq: CountSchema,
          created_at: TimeSchema
        })
      ),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ proposal_id = null, voter_pubkey = null, limit = DEFAULT_LIMIT }) =>
        database.read('selectVotes', { proposal_id, voter_pubkey, limit })
    })
  };
}

/** Milliseconds as MariaDB prints a time, UTC. */
const timeText = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** Returns a proposal with its times; a change is applied as soon as it is decided. */
function withTimes({ voting_start, voting_end, decided_at, ...proposal }: Proposal) {
  const decided = decided_at === null ? null : timeText(decided_at);
  return {
    ...proposal,
    created_at: timeText(voting_start),
    voting_start: timeText(voting_start),
    voting_end: timeText(voting_end),
    decided_at: decided,
    applied_at: proposal.status === 'passed' ? decided : null
  };
}
