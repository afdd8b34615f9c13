import { wayOf } from '../../follower/pipeline.ts';
import { type ActorId, actorKey } from '../../wire/state/actor.ts';
import { type Alarm, alarmText } from '../../wire/state/alarm.ts';
import { type Condition, loopCondition, peerCondition } from '../../wire/state/condition.ts';
import { boxOf, type Pipeline, type PipelineNode } from '../../wire/state/pipeline.ts';
import type { Circuit } from '../../wire/state/report.ts';
import { healthOf, type IndexerView } from './health.ts';

/** Returns the way of blocks as an indexer knows it: decoder database → indexer → ledger. */
export function indexerPipeline(id: ActorId, view: IndexerView): Pipeline {
  const key = actorKey(id);
  const { decoderBlock, lastIndexedBlock, decoderDbCircuit, indexerDbCircuit, lag } = healthOf(view);
  const source: PipelineNode = {
    ...boxOf(key, 'source', `decoder/${id.chain}`),
    ...databaseCondition(decoderDbCircuit, view.report?.alarm?.code === 'UPSTREAM_STOPPED' ? view.report.alarm : null),
    height: decoderBlock
  };
  const indexer: PipelineNode = {
    ...boxOf(key, 'indexer', 'indexer'),
    ...loopCondition(view.crash, view.report, lag),
    height: lastIndexedBlock
  };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `indexer/${id.chain}`),
    ...databaseCondition(indexerDbCircuit),
    height: lastIndexedBlock
  };
  return wayOf(source, indexer, database);
}

/** Returns the condition of a database from the circuit breaker of its user. */
function databaseCondition(circuit: Circuit | null, stopped: Alarm | null = null): Condition {
  if (circuit === 'closed' && stopped) return { state: 'waiting', doing: 'does not go on', reason: alarmText(stopped) };
  return peerCondition(circuit && circuit === 'closed', 'the indexer tries again until it answers');
}
