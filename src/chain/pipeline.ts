import { type ActorId, actorKey } from '../wire/actor.ts';
import { arrowOf, boundReason, boxOf, type Pipeline, type PipelineNode } from '../wire/pipeline.ts';
import { standingOf } from '../wire/standing.ts';
import { type ChainReport, type ChainView, isTipStale, lagOf } from './report.ts';

/**
 * The way of blocks as a service that writes a chain knows it: coin node → service → database.
 *
 * @param now as monotonicMs() tells it
 */
export function chainPipeline(id: ActorId, view: ChainView, now: number): Pipeline {
  const key = actorKey(id);
  const { report } = view;
  const written = report?.lastProcessedBlock ?? null;
  const node: PipelineNode = {
    ...boxOf(key, 'coin node', `${id.chain} ${id.network}`),
    ...nodeStanding(report, report !== null && isTipStale(report, now)),
    height: report?.nodeHeight ?? null
  };
  const writer: PipelineNode = { ...boxOf(key, id.kind, id.kind), ...writerStanding(view), height: written };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `${id.kind}/${id.chain}`),
    ...databaseStanding(report),
    height: written
  };
  return {
    nodes: [node, writer, database],
    edges: [arrowOf(node, writer, writer, written), arrowOf(writer, database, database, written)]
  };
}

type BoxStanding = Pick<PipelineNode, 'state' | 'doing' | 'reason'>;

function nodeStanding(report: ChainReport | null, isStale: boolean): BoxStanding {
  if (!report || report.nodeHeight === null) return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (!isStale) return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason: 'the node has not answered for a minute' };
}

function writerStanding({ report, crash }: ChainView): BoxStanding {
  if (crash !== null) return { state: 'failed', doing: 'down', reason: boundReason(crash) };
  const last = report && { phase: report.state, lagBlocks: lagOf(report), lastError: report.haltReason };
  const waiting = report?.failures ? { on: `the next attempt; ${report.failures} failed` } : null;
  return standingOf({ state: 'running', reason: null, report: last, waiting });
}

function databaseStanding(report: ChainReport | null): BoxStanding {
  if (!report || report.isDatabaseReachable === null)
    return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (report.isDatabaseReachable) return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason: 'reconnecting until it answers' };
}
