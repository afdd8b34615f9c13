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
  OneOf,
  SecondsSchema,
  Success,
  success
} from './common.ts';

const ReorgSchema = Type.Object({
  reorgId: Type.String(),
  chain: Type.String(),
  reorgHeight: CountSchema,
  timestamp: CountSchema,
  oldHash: HashSchema,
  newHash: HashSchema,
  affectedChains: Type.String({ description: 'tickers, with commas' }),
  validatorCount: Type.Integer({ description: '0: a hub without consensus decided directly' }),
  status: OneOf(REORG_STATES)
});

/** The methods about reorganised chains. */
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
      async run({ chain, reorg_height: reorgHeight, timestamp, old_hash: oldHash, new_hash: newHash }) {
        if (oldHash.toLowerCase() === newHash.toLowerCase())
          throw new PlatformError('REQUEST_INVALID', { reason: 'old_hash and new_hash are the same: nothing changed' });
        const report = { chain, reorgHeight, timestamp, oldHash, newHash };
        const isSeen = await facts.hasBlock(chain, reorgHeight, newHash);
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
