import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { ChainFacts } from '../chain-facts.ts';
import type { HubDatabase } from '../store/database.ts';
import { REORG_STATES } from '../store/reorgs.ts';
import {
  ChainSchema,
  CountSchema,
  closed,
  DATABASE_ERRORS,
  DEFAULT_LIMIT,
  HashSchema,
  LimitSchema,
  Nullable,
  OneOf,
  SecondsSchema,
  Success,
  success,
  TimeSchema
} from './common.ts';

const ReorgSchema = Type.Object({
  reorg_id: Type.String(),
  id: CountSchema,
  source_chain: Type.String(),
  reorg_height: CountSchema,
  reorg_timestamp: CountSchema,
  consensus_proof: Nullable(Type.String()),
  created_at: TimeSchema,
  old_hash: HashSchema,
  new_hash: HashSchema,
  affected_chains: Type.String({ description: 'tickers, with commas' }),
  validator_count: Type.Integer({ description: '0: a hub without consensus decided directly' }),
  status: OneOf(REORG_STATES)
});

/** Returns the methods about reorganised chains. */
export function reorgMethods(database: HubDatabase, facts: ChainFacts): Readonly<Record<string, RpcMethod>> {
  return {
    reportreorg: rpcMethod({
      summary: 'Reports that a chain was reorganised; one report per chain and minute is taken',
      params: Type.Object(
        {
          chain: ChainSchema,
          reorg_height: CountSchema,
          timestamp: SecondsSchema,
          old_hash: HashSchema,
          new_hash: HashSchema
        },
        closed
      ),
      result: Success,
      write: true,
      errors: [...DATABASE_ERRORS, 'REORG_DIFFERS'],
      async run({ chain, reorg_height, timestamp, old_hash, new_hash }, { address, aside }) {
        if (old_hash.toLowerCase() === new_hash.toLowerCase())
          throw new PlatformError('REQUEST_INVALID', { reason: 'old_hash and new_hash are the same: nothing changed' });
        const report = { chain, reorg_height, timestamp, old_hash, new_hash };
        const isSeen = await aside(() => facts.hasBlock(chain, reorg_height, new_hash, address));
        await database.write('insertReorg', report, isSeen);
        return success;
      }
    }),
    getreorghistory: rpcMethod({
      summary: 'The newest reorgs that were reported',
      params: Type.Object({ chain: Type.Optional(ChainSchema), limit: LimitSchema }),
      result: Type.Array(ReorgSchema),
      write: false,
      errors: DATABASE_ERRORS,
      run: ({ chain = null, limit = DEFAULT_LIMIT }) => database.read('selectReorgs', chain, limit)
    })
  };
}
