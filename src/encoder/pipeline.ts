import { PlatformError } from '../errors.ts';
import { type Pipeline, pipelineBehind } from '../wire/state/pipeline.ts';

/** State of the services that an encoder asks, as it knows it. */
interface EncoderLook {
  /** Whether the node can be used. */
  readonly isFit: boolean;
  /** Reason why it cannot. */
  readonly fault: string | null;
  /** Reason why the coins of the tracker cannot be used; null when they can, and without a tracker. */
  readonly trackerFault: string | null;
}

/** Returns the pipeline coin node -> encoder; while only the tracker is at fault, tracker -> encoder. */
export function encoderPipeline(network: string, { isFit, fault, trackerFault }: EncoderLook): Pipeline {
  const common = { lane: network, service: 'encoder', doing: 'builds transactions', carries: 'coins and fees' };
  if (isFit && trackerFault !== null) {
    const remedy = `${trackerFault}; ${new PlatformError('TRACKER_UNAVAILABLE', {}).hint}`;
    const upstream = { role: 'tracker', name: network };
    const { nodes, edges } = pipelineBehind({ ...common, upstream, waitsFor: 'its tracker', remedy }, false);
    const shown = nodes.map((node) => (node.role === 'encoder' ? { ...node, reason: trackerFault } : node));
    return { nodes: shown, edges };
  }
  const remedy = fault ?? 'check NODE_URL, NODE_PORT, NODE_USER and NODE_PASSWORD';
  return pipelineBehind(
    { ...common, upstream: { role: 'coin node', name: network }, waitsFor: 'its node', remedy },
    isFit
  );
}
