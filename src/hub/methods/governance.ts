import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { PROPOSAL_STATES, THIS_HUB } from '../store/governance.ts';
import {
  CountSchema,
  checkTexts,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  LimitSchema,
  Nullable,
  OneOf
} from './common.ts';

const Parameter = Type.String({ pattern: '^[\\x21-\\x7e]{1,255}$' });
const Value = Type.String({ minLength: 1, maxLength: 255 });
const ProposalId = Type.String({ minLength: 1, maxLength: 288 });
const VoteWord = OneOf(['approve', 'reject']);

const ProposalSchema = Type.Object({
  proposalId: ProposalId,
  parameter: Parameter,
  currentValue: Nullable(Value),
  proposedValue: Value,
  rationale: Nullable(Type.String()),
  status: OneOf(PROPOSAL_STATES),
  votingStart: CountSchema,
  votingEnd: Type.Integer({ description: 'epoch milliseconds' }),
  decidedAt: Nullable(CountSchema),
  activationBlock: Nullable(CountSchema),
  approvals: CountSchema,
  rejections: CountSchema
});

/**
 * The methods by which parameters are changed. Without consensus this hub is the whole electorate, so its vote decides.
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
      result: Type.Pick(ProposalSchema, ['proposalId', 'parameter', 'status', 'votingEnd', 'activationBlock']),
      write: true,
      errors: [...DATABASE_ERRORS, 'PROPOSAL_REFUSED'],
      async run({ parameter, current_value = null, proposed_value, rationale = null }) {
        checkTexts({ current_value, proposed_value, rationale });
        const proposal = {
          ...{ parameter, currentValue: current_value, proposedValue: proposed_value, rationale },
          ...{ at: Date.now(), votingPeriodMs, setting: numbers.get(parameter.toUpperCase())?.toString() ?? null }
        };
        const { proposalId, status, votingEnd, activationBlock } = await database.write('insertProposal', proposal);
        return { proposalId, parameter, status, votingEnd, activationBlock };
      }
    }),
    vote: rpcMethod({
      summary: 'Votes on a proposal',
      params: Type.Object({ proposal_id: ProposalId, vote: VoteWord }, closed),
      result: Type.Object({ proposalId: ProposalId, vote: VoteWord, voter: Type.String() }),
      write: true,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN', 'PROPOSAL_REFUSED'],
      async run({ proposal_id: proposalId, vote }) {
        await database.write('insertVote', proposalId, vote, Date.now());
        return { proposalId, vote, voter: THIS_HUB };
      }
    }),
    getproposals: rpcMethod({
      summary: 'The newest proposals',
      params: Type.Object({ status: Type.Optional(OneOf(PROPOSAL_STATES)), limit: LimitSchema }),
      result: Type.Array(ProposalSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ status = null, limit = DEFAULT_LIMIT }) =>
        database.read('selectProposals', { status, limit, at: Date.now() })
    }),
    getproposal: rpcMethod({
      summary: 'One proposal',
      params: Type.Object({ proposal_id: ProposalId }),
      result: ProposalSchema,
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      run: ({ proposal_id }) => database.read('selectProposal', proposal_id, Date.now())
    }),
    getvotes: rpcMethod({
      summary: 'The votes on a proposal, in their order',
      params: Type.Object({ proposal_id: ProposalId }),
      result: Type.Array(Type.Object({ proposalId: ProposalId, voter: Type.String(), vote: VoteWord })),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ proposal_id }) => database.read('selectVotes', proposal_id)
    })
  };
}
