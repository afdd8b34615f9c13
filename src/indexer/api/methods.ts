import Type from 'typebox';
import type { ChainNetwork } from '../../coin/chains.ts';
import { pingMethod, type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import { type ActionPlace, ConfirmationsSchema } from './confirmations.ts';
import { HealthSchema, healthOf, type IndexerView, LatestBlockSchema, latestBlockOf } from './health.ts';

/** What the methods of an indexer answer from. */
export interface IndexerMethodDeps {
  readonly network: Pick<ChainNetwork, 'ticker' | 'network'>;
  /** What is known of the loop at this moment. */
  readonly view: () => IndexerView;
  /** @throws {PlatformError} DATABASE_UNAVAILABLE, ACTOR_TIMEOUT */
  readonly findAction: (actionIndex: number) => Promise<ActionPlace>;
}

/** The methods of an indexer. */
export function indexerMethods({ network, view, findAction }: IndexerMethodDeps): Readonly<Record<string, RpcMethod>> {
  return {
    ping: pingMethod,
    health: rpcMethod({
      summary: 'Where the indexer stands, and whether it is well',
      result: HealthSchema,
      write: false,
      run: () => healthOf(view())
    }),
    getlatestblock: rpcMethod({
      summary: "The last block that was written, beside the decoder's",
      result: LatestBlockSchema,
      write: false,
      run: () => latestBlockOf(view())
    }),
    getactionconfirmations: rpcMethod({
      summary: 'In which block an action is, and how many blocks stand from it to the newest',
      params: Type.Object({ action_index: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
      result: ConfirmationsSchema,
      errors: ['DATABASE_UNAVAILABLE', 'ACTOR_TIMEOUT'],
      write: false,
      run: async ({ action_index }) => ({
        coin: network.ticker,
        network: network.network,
        action_index,
        ...(await findAction(action_index))
      })
    })
  };
}
