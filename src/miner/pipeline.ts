import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/state/pipeline.ts';

/** Returns the pipeline miner -> coin node. @param reason why it cannot mine; null while it can */
export function minerPipeline(network: string, reason: string | null): Pipeline {
  const miner: PipelineNode = {
    ...boxOf(network, 'miner', 'miner'),
    state: reason === null ? 'well' : 'waiting',
    doing: reason === null ? 'mines when payments wait' : 'waits for its node',
    reason
  };
  const node: PipelineNode = {
    ...boxOf(network, 'coin node', network),
    state: reason === null ? 'well' : 'waiting',
    doing: reason === null ? 'answers' : 'is not ready'
  };
  return { nodes: [miner, node], edges: [{ ...arrowOf(miner, node, node, null), carries: 'blocks' }] };
}
