import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { ChainFacts } from '../chain-facts.ts';
import { ATTESTATION_STATES, SWAP_STATES } from '../store/cross-chain.ts';
import type { HubDatabase } from '../store/database.ts';
import {
  ChainSchema,
  CountSchema,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  LimitSchema,
  Nullable,
  OneOf,
  Success,
  success,
  TimeSchema
} from './common.ts';

const Stamps = { id: CountSchema, created_at: TimeSchema, updated_at: TimeSchema };
const AttestationSchema = Type.Object({
  ...Stamps,
  attestation_id: Type.String(),
  source_chain: Type.String(),
  source_action_index: CountSchema,
  dest_chain: Type.String(),
  confirmations: Nullable(Type.Integer({ description: "as the chain's indexer says; null: none was asked" })),
  status: OneOf(ATTESTATION_STATES),
  validator_count: Type.Integer({ description: '0: a hub without consensus decided directly' }),
  consensus_proof: Nullable(Type.String())
});
const SwapSchema = Type.Object({
  ...Stamps,
  source_chain: Type.String(),
  source_action_index: CountSchema,
  dest_chain: Type.String(),
  dest_action_index: Nullable(CountSchema),
  attestation_id: Nullable(Type.String()),
  status: OneOf(SWAP_STATES)
});
const Action = {
  source_chain: ChainSchema,
  source_action_index: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  dest_chain: ChainSchema
};

/** Returns the methods about what one chain does for another. */
export function crossChainMethods(database: HubDatabase, facts: ChainFacts): Readonly<Record<string, RpcMethod>> {
  return {
    requestattestation: rpcMethod({
      summary: 'Attests an action of one chain for another, as far as the indexer says so that the hub knows',
      params: Type.Object(Action, closed),
      result: AttestationSchema,
      write: true,
      errors: DATABASE_ERRORS,
      async run(params, { address, aside }) {
        const action = actionOf(params);
        const { source_chain, source_action_index } = action;
        const confirmations = await aside(() => facts.confirmationsOf(source_chain, source_action_index, address));
        return await database.write('attest', action, confirmations);
      }
    }),
    initiateswap: rpcMethod({
      summary: 'Notes a swap between two chains; it is attested with its source action',
      params: Type.Object({ ...Action, dest_action_index: Type.Optional(CountSchema) }, closed),
      result: Success,
      write: true,
      errors: [...DATABASE_ERRORS, 'SWAP_DIFFERS'],
      async run({ dest_action_index = null, ...params }) {
        const action = { ...actionOf(params), dest_action_index };
        await database.write('initiateSwap', action);
        return success;
      }
    }),
    getattestations: rpcMethod({
      summary: 'The newest attestations',
      params: Type.Object({ status: Type.Optional(OneOf(ATTESTATION_STATES)), limit: LimitSchema }),
      result: Type.Array(AttestationSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ status = null, limit = DEFAULT_LIMIT }) => database.read('selectAttestations', { status, limit })
    }),
    getattestation: rpcMethod({
      summary: 'The newest attestation of an action, or the one with an id',
      params: Type.Object({
        source_chain: Type.Optional(ChainSchema),
        source_action_index: Type.Optional(CountSchema),
        attestation_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 }))
      }),
      result: AttestationSchema,
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ attestation_id, source_chain: chain, source_action_index: index }) {
        if (attestation_id !== undefined) return await database.read('selectAttestation', attestation_id);
        if (chain === undefined || index === undefined)
          throw new PlatformError('REQUEST_INVALID', { reason: 'send source_chain and source_action_index' });
        const found = await database.read('selectAttestationOf', chain, index);
        if (found) return found;
        throw new PlatformError('RECORD_UNKNOWN', { reason: `the action ${chain}:${index} has no attestation` });
      }
    }),
    getswaps: rpcMethod({
      summary: 'The newest swaps',
      params: Type.Object({ status: Type.Optional(OneOf(SWAP_STATES)), limit: LimitSchema }),
      result: Type.Array(SwapSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ status = null, limit = DEFAULT_LIMIT }) => database.read('selectSwaps', { status, limit })
    }),
    getswap: rpcMethod({
      summary: 'The swap that an action began',
      params: Type.Object({ source_chain: ChainSchema, source_action_index: CountSchema }),
      result: SwapSchema,
      write: false,
      errors: [...DATABASE_ERRORS, 'RECORD_UNKNOWN'],
      async run({ source_chain: chain, source_action_index: index }) {
        const swap = await database.read('selectSwap', chain, index);
        if (swap) return swap;
        throw new PlatformError('RECORD_UNKNOWN', { reason: `the action ${chain}:${index} began no swap` });
      }
    })
  };
}

/** @throws {PlatformError} REQUEST_INVALID when both chains are the same */
function actionOf({
  source_chain,
  source_action_index,
  dest_chain
}: {
  readonly source_chain: string;
  readonly source_action_index: number;
  readonly dest_chain: string;
}) {
  if (source_chain === dest_chain)
    throw new PlatformError('REQUEST_INVALID', { reason: `source_chain and dest_chain are both ${dest_chain}` });
  return { source_chain, source_action_index, dest_chain };
}
