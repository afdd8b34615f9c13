import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/pipeline.ts';

/** The encoder as it knows itself: its coin node → encoder. @param answers whether the node answered when it was asked last */
export function encoderPipeline(network: string, answers: boolean): Pipeline {
  const node: PipelineNode = {
    ...boxOf(network, 'coin node', network),
    state: answers ? 'well' : 'failed',
    doing: answers ? 'answers' : 'does not answer',
    reason: answers ? null : 'check NODE_URL, NODE_PORT, NODE_USER and NODE_PASSWORD'
  };
  const encoder: PipelineNode = {
    ...boxOf(network, 'encoder', 'encoder'),
    state: answers ? 'well' : 'waiting',
    doing: answers ? 'builds transactions' : 'waits for its node'
  };
  return { nodes: [node, encoder], edges: [{ ...arrowOf(node, encoder, encoder, null), carries: 'coins and fees' }] };
}
