import { pingMethod, type RpcMethod, rpcMethod } from '../service/rpc/method.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { type DecoderView, HealthSchema, healthOf, LatestBlockSchema, latestBlockOf } from './health.ts';

/** Returns the methods of a decoder. @param view returns the last known state of its loop */
export function decoderMethods(view: () => DecoderView): Readonly<Record<string, RpcMethod>> {
  return {
    ping: pingMethod,
    health: rpcMethod({
      isProbe: true,
      summary: 'State of the decoder: its blocks, its node, and whether it is healthy',
      result: HealthSchema,
      write: false,
      run: () => healthOf(view(), monotonicMs())
    }),
    getlatestblock: rpcMethod({
      summary: 'The newest written block, and that of the node',
      result: LatestBlockSchema,
      write: false,
      run: () => latestBlockOf(view(), monotonicMs())
    })
  };
}
