import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { CountSchema, DATABASE_ERRORS, NameSchema, Success, success } from './common.ts';

const Tip = Type.Object({
  coin: NameSchema,
  network: NameSchema,
  block_height: CountSchema,
  block_time: Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1, description: 'epoch seconds' })
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
      params: Type.Object({ ...Tip.properties, network: Type.Optional(NameSchema) }),
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
