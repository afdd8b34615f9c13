import { type Pipeline, pipelineBehind } from '../wire/state/pipeline.ts';

/** Returns the hub as it knows itself: its database → hub. @param answers whether the database answered when it was asked last */
export function hubPipeline(databaseName: string, answers: boolean): Pipeline {
  return pipelineBehind(
    {
      lane: null,
      upstream: { role: 'database', name: databaseName },
      service: 'hub',
      doing: 'serves the configuration',
      waitsFor: 'its database',
      remedy: 'check HUB_DB_HOST, HUB_DB_PORT and MariaDB; the hub tries again by itself',
      carries: 'configuration'
    },
    answers
  );
}
