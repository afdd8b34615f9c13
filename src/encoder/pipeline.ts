import { type Pipeline, pipelineBehind } from '../wire/state/pipeline.ts';

/** The encoder as it knows itself: its coin node → encoder. @param isFit whether it can use the node @param fault why not */
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
