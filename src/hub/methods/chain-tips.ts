import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { CountSchema, closed, DATABASE_ERRORS, NameSchema, SecondsSchema, Success, success } from './common.ts';

const Tip = Type.Object({
  coin: NameSchema,
  network: NameSchema,
  block_height: CountSchema,
  block_time: SecondsSchema
});

/** The methods about the tips of chains, which are no configuration: they change with each block. @param pushNeedsKey HUB_PUSH_AUTH */
export function chainTipMethods(
  database: HubDatabase,
  { pushNeedsKey }: { readonly pushNeedsKey: boolean }
): Readonly<Record<string, RpcMethod>> {
  return {
    getchaintips: rpcMethod({
      summary: 'The last block of each network that an indexer or tracker pushed',
      result: Type.Array(Tip),
      write: false,
      errors: DATABASE_ERRORS,
      run: () => database.read('selectTips')
    }),
    pushchaintip: rpcMethod({
      summary: 'Says which block is the last one of a network',
      params: Type.Object({ ...Tip.properties, network: Type.Optional(NameSchema) }, closed),
      result: Success,
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run({ coin, network = 'mainnet', block_height, block_time }) {
        await database.push('upsertTip', { coin, network, block_height, block_time });
        return success;
      }
    })
  };
}
