import Type from 'typebox';
import { type RpcMethod, rpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { CountSchema, closed, DATABASE_ERRORS, NameSchema, SecondsSchema, Success, success } from './common.ts';
import { Outcome, type PushSettings } from './pushes.ts';

const Tip = Type.Object({
  coin: NameSchema,
  network: NameSchema,
  block_height: CountSchema,
  block_time: SecondsSchema
});

const KnownTip = Type.Object({
  ...Tip.properties,
  age_s: Type.Integer({ description: 'seconds since it was said; below 0 when the clock was set back' }),
  trusted: Type.Boolean({ description: 'whether a caller with the key, or on the machine of the hub, said it' })
});

/** Returns the methods about the tips of chains, which are no configuration: they change with each block. */
export function chainTipMethods(
  database: HubDatabase,
  { pushNeedsKey, isTrusted }: PushSettings
): Readonly<Record<string, RpcMethod>> {
  return {
    getchaintips: rpcMethod({
      summary: 'The last block of each network that an indexer or tracker pushed',
      result: Type.Array(KnownTip),
      write: false,
      errors: DATABASE_ERRORS,
      run: () => database.read('selectTips')
    }),
    pushchaintip: rpcMethod({
      summary: 'Says which block is the last one of a network',
      params: Type.Object({ ...Tip.properties, network: Type.Optional(NameSchema) }, closed),
      result: Type.Object({ ...Success.properties, ...Type.Partial(Outcome).properties }),
      write: true,
      needsKey: pushNeedsKey,
      errors: DATABASE_ERRORS,
      async run({ coin, network = 'mainnet', block_height, block_time }, caller) {
        const tip = { coin, network, block_height, block_time };
        const reason = await database.push('upsertTip', tip, isTrusted(caller));
        return reason === null ? success : { ...success, accepted: false, reason };
      }
    })
  };
}
