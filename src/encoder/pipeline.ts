import { type Pipeline, pipelineBehind } from '../wire/state/pipeline.ts';

/**
 * Returns the pipeline coin node -> encoder. @param isFit whether the node can be used @param fault the reason when it
 * cannot
 */
export function encoderPipeline(network: string, isFit: boolean, fault: string | null): Pipeline {
  return pipelineBehind(
    {
      lane: network,
      upstream: { role: 'coin node', name: network },
      service: 'encoder',
      doing: 'builds transactions',
      waitsFor: 'its node',
      remedy: fault ?? 'check NODE_URL, NODE_PORT, NODE_USER and NODE_PASSWORD',
      carries: 'coins and fees'
    },
    isFit
  );
}
