import { arrowOf, boxOf, type Pipeline, type PipelineNode } from '../wire/pipeline.ts';

/** The hub as it knows itself: its database → hub. @param answers whether the database answered when it was asked last */
export function hubPipeline(databaseName: string, answers: boolean): Pipeline {
  const database: PipelineNode = {
    ...boxOf(null, 'database', databaseName),
    state: answers ? 'well' : 'failed',
    doing: answers ? 'answers' : 'does not answer',
    reason: answers ? null : 'check HUB_DB_HOST, HUB_DB_PORT and MariaDB; the hub tries again by itself'
  };
  const hub: PipelineNode = {
    ...boxOf(null, 'hub', 'hub'),
    state: answers ? 'well' : 'waiting',
    doing: answers ? 'serves the configuration' : 'waits for its database'
  };
  return { nodes: [database, hub], edges: [{ ...arrowOf(database, hub, hub, null), carries: 'configuration' }] };
}
