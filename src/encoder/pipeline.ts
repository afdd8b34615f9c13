import { type Pipeline, pipelineBehind } from '../wire/state/pipeline.ts';

/** The encoder as it knows itself: its coin node → encoder. @param answers whether the node answered when it was asked last */
export function encoderPipeline(network: string, answers: boolean): Pipeline {
  return pipelineBehind(
    {
      lane: network,
      upstream: { role: 'coin node', name: network },
      service: 'encoder',
      doing: 'builds transactions',
      waitsFor: 'its node',
      remedy: 'check NODE_URL, NODE_PORT, NODE_USER and NODE_PASSWORD',
      carries: 'coins and fees'
    },
    answers
  );
}
