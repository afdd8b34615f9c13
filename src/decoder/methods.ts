import { monotonicMs } from '../chain/monotonic.ts';
import { pingMethod, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { type DecoderView, HealthSchema, healthOf, LatestBlockSchema, latestBlockOf } from './health.ts';

/** The methods of a decoder. @param view the last known state of its loop */
export function decoderMethods(view: () => DecoderView): Readonly<Record<string, RpcMethod>> {
  return {
    ping: pingMethod,
    health: rpcMethod({
      isProbe: true,
      summary: 'Where the decoder stands, and whether it is well',
      result: HealthSchema,
      write: false,
      run: () => healthOf(view(), monotonicMs())
    }),
    getlatestblock: rpcMethod({
      summary: 'The last block that was written, beside that of the node',
      result: LatestBlockSchema,
      write: false,
      run: () => latestBlockOf(view(), monotonicMs())
    })
  };
}
