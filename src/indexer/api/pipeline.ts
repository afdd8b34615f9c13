import { type ActorId, actorKey } from '../../wire/actor.ts';
import { arrowOf, boundReason, boxOf, type Pipeline, type PipelineNode } from '../../wire/pipeline.ts';
import type { Circuit } from '../../wire/report.ts';
import { standingOf } from '../../wire/standing.ts';
import { healthOf, type IndexerView } from './health.ts';

/** The way of blocks as an indexer knows it: decoder database → indexer → ledger. */
export function indexerPipeline(id: ActorId, view: IndexerView): Pipeline {
  const key = actorKey(id);
  const { decoderBlock, lastIndexedBlock, decoderDbCircuit, indexerDbCircuit, lag } = healthOf(view);
  const source: PipelineNode = {
    ...boxOf(key, 'source', `decoder/${id.chain}`),
    ...databaseStanding(decoderDbCircuit),
    height: decoderBlock
  };
  const indexer: PipelineNode = {
    ...boxOf(key, 'indexer', 'indexer'),
    ...indexerStanding(view, lag),
    height: lastIndexedBlock
  };
  const database: PipelineNode = {
    ...boxOf(key, 'database', `indexer/${id.chain}`),
    ...databaseStanding(indexerDbCircuit),
    height: lastIndexedBlock
  };
  return {
    nodes: [source, indexer, database],
    edges: [arrowOf(source, indexer, indexer, indexer.height), arrowOf(indexer, database, database, database.height)]
  };
}

type BoxStanding = Pick<PipelineNode, 'state' | 'doing' | 'reason'>;

function indexerStanding({ report, crash }: IndexerView, lagBlocks: number | null): BoxStanding {
  if (crash !== null) return { state: 'failed', doing: 'down', reason: boundReason(crash) };
  const last = report && { phase: report.state, lagBlocks, lastError: report.haltReason };
  const waiting = report?.failures ? { on: `the next attempt; ${report.failures} failed` } : null;
  return standingOf({ state: 'running', reason: null, report: last, waiting });
}

function databaseStanding(circuit: Circuit | null): BoxStanding {
  if (circuit === null) return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (circuit === 'closed') return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason: 'the indexer tries again until it answers' };
}
