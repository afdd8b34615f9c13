import { PlatformError } from '../errors.ts';
import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/state/pipeline.ts';

/**
 * Returns the pipeline miner -> coin node. A node that does not answer is named in its own box, with the remedy.
 *
 * @param reason why it cannot mine; null while it can
 */
export function minerPipeline(network: string, reason: string | null, isNodeHeard: boolean): Pipeline {
  const isWell = reason === null;
  const miner: PipelineNode = {
    ...boxOf(network, 'miner', 'miner'),
    state: isWell ? 'well' : 'waiting',
    doing: isWell ? 'mines when payments wait' : 'waits for its node',
    reason: isNodeHeard ? reason : 'its coin node does not answer'
  };
  const box = boxOf(network, 'coin node', network);
  const node: PipelineNode = isNodeHeard
    ? { ...box, state: isWell ? 'well' : 'waiting', doing: isWell ? 'answers' : 'is not ready' }
    : { ...box, state: 'failed', doing: 'does not answer', reason: new PlatformError('NODE_UNREACHABLE', {}).hint };
  return { nodes: [miner, node], edges: [{ ...arrowOf(miner, node, node, null), carries: 'blocks' }] };
}
