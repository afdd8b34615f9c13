import { type ActorId, actorKey } from '../wire/actor.ts';
import { arrowOf, boundReason, boxOf, type Pipeline, type PipelineNode } from '../wire/pipeline.ts';
import { standingOf } from '../wire/standing.ts';
import { type DecoderView, healthOf } from './health.ts';

/**
 * The way of blocks as a decoder knows it: coin node → decoder → database.
 *
 * @param now as monotonicMs() tells it
 */
export function decoderPipeline(id: ActorId, view: DecoderView, now: number): Pipeline {
  const key = actorKey(id);
  const health = healthOf(view, now);
  const node: PipelineNode = {
    ...boxOf(key, 'coin node', `${id.chain} ${id.network}`),
    ...nodeStanding(view, health.node_height_stale === true),
    height: health.node_height
  };
  const decoder: PipelineNode = {
    ...boxOf(key, 'decoder', 'decoder'),
    ...decoderStanding(view, health.lag),
    height: health.last_processed_block
  };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `decoder/${id.chain}`),
    ...databaseStanding(view),
    height: health.last_processed_block
  };
  return {
    nodes: [node, decoder, database],
    edges: [arrowOf(node, decoder, decoder, decoder.height), arrowOf(decoder, database, database, database.height)]
  };
}

type BoxStanding = Pick<PipelineNode, 'state' | 'doing' | 'reason'>;

function nodeStanding({ report }: DecoderView, isStale: boolean): BoxStanding {
  if (!report || report.nodeHeight === null) return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (!isStale) return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason: 'the node has told no tip for a minute' };
}

function decoderStanding({ report, crash }: DecoderView, lagBlocks: number | null): BoxStanding {
  if (crash !== null) return { state: 'failed', doing: 'down', reason: boundReason(crash) };
  const last = report && { phase: report.state, lagBlocks, lastError: report.haltReason };
  const waiting = report?.failures ? { on: `the next attempt; ${report.failures} failed` } : null;
  return standingOf({ state: 'running', reason: null, report: last, waiting });
}

function databaseStanding({ report }: DecoderView): BoxStanding {
  if (!report || report.isDatabaseReachable === null)
    return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (report.isDatabaseReachable) return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason: 'the decoder tries again until it answers' };
}
