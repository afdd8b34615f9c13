import { type ActorId, actorKey } from '../wire/state/actor.ts';
import { alarmText } from '../wire/state/alarm.ts';
import { loopCondition, peerCondition } from '../wire/state/condition.ts';
import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/state/pipeline.ts';
import { type ChainView, isTipStale, lagOf } from './report.ts';

/**
 * Returns the way of blocks as a service that writes a chain knows it: coin node → service → database.
 *
 * @param now time of monotonicMs()
 */
export function chainPipeline(id: ActorId, view: ChainView, now: number): Pipeline {
  const key = actorKey(id);
  const { report, crash } = view;
  const written = report?.lastProcessedBlock ?? null;
  const isNodeHeard =
    report && report.nodeHeight !== null ? !isTipStale(report, now) && report.alarm?.code !== 'NODE_UNREACHABLE' : null;
  const node: PipelineNode = {
    ...boxOf(key, 'coin node', `${id.chain} ${id.network}`),
    ...peerCondition(isNodeHeard, 'the node does not answer'),
    height: report?.nodeHeight ?? null
  };
  const writer: PipelineNode = {
    ...boxOf(key, id.kind, id.kind),
    ...loopCondition(
      crash,
      report && { ...report, haltReason: report.haltReason ?? alarmText(report.alarm) },
      report && lagOf(report)
    ),
    height: written
  };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `${id.kind}/${id.chain}`),
    ...peerCondition(report?.isDatabaseReachable ?? null, 'reconnecting until it answers'),
    height: written
  };
  return {
    nodes: [node, writer, database],
    edges: [arrowOf(node, writer, writer, written), arrowOf(writer, database, database, written)]
  };
}
