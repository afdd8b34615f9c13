import { PlatformError } from '../errors.ts';
import { type ActorId, actorKey } from '../wire/state/actor.ts';
import { type Alarm, alarmOf, alarmText } from '../wire/state/alarm.ts';
import { type Condition, loopCondition, peerCondition } from '../wire/state/condition.ts';
import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/state/pipeline.ts';
import { type ChainView, isNodeHeard, knownLagOf } from './report.ts';

/**
 * Returns the way of blocks as a service that writes a chain knows it: coin node → service → database.
 *
 * @param now time of monotonicMs()
 */
export function chainPipeline(id: ActorId, view: ChainView, now: number): Pipeline {
  const key = actorKey(id);
  const { report } = view;
  const written = report?.lastProcessedBlock ?? null;
  const isHeard = report && isNodeHeard(report, now);
  const node: PipelineNode = {
    ...boxOf(key, 'coin node', `${id.chain} ${id.network}`),
    ...peerCondition(isHeard, silenceOf(report?.alarm ?? null, now)),
    height: report?.nodeHeight ?? null
  };
  const writer: PipelineNode = {
    ...boxOf(key, id.kind, id.kind),
    ...writerCondition(view, isHeard, now),
    height: written
  };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `${id.kind}/${id.chain}`),
    ...peerCondition(report?.isDatabaseReachable ?? null, 'reconnecting until it answers'),
    height: written
  };
  const { nodes, edges } = wayOf(node, writer, database);
  const [arriving, ...others] = edges;
  return { nodes, edges: isHeard === false ? [{ ...arriving!, lag: null }, ...others] : edges };
}

/** Returns the way of blocks from where they come from, through the service that follows them, into its database. */
export function wayOf(source: PipelineNode, writer: PipelineNode, database: PipelineNode): Pipeline {
  return {
    nodes: [source, writer, database],
    edges: [arrowOf(source, writer, writer, writer.height), arrowOf(writer, database, database, database.height)]
  };
}

/** Returns the condition of the loop. A node that does not answer is named in its own box, with its remedy. */
function writerCondition({ report, crash }: ChainView, isHeard: boolean | null, now: number): Condition {
  const fault = isHeard === false ? 'its coin node does not answer' : alarmText(report?.alarm);
  const shown = report && { ...report, haltReason: report.haltReason ?? fault };
  const condition = loopCondition(crash, shown, report && knownLagOf(report, now));
  const isCut = isHeard === false || report?.isDatabaseReachable === false;
  const isIdle = isCut && condition.state !== 'failed';
  return isIdle ? { ...condition, state: 'waiting' } : condition;
}

/** Returns why a node is not heard, with the remedy. */
function silenceOf(alarm: Alarm | null, now: number): string {
  if (alarm?.code === 'NODE_UNREACHABLE') return alarmText(alarm)!;
  const silence = new PlatformError('NODE_UNREACHABLE', { reason: 'the coin node does not answer' });
  return alarmText(alarmOf(silence, null, now))!;
}
