import { type ActorId, actorKey } from '../wire/actor.ts';
import type { Pipeline } from '../wire/pipeline.ts';
import { pipelineBehind } from '../wire/pipeline.ts';
import type { ExplorerReport } from './report.ts';

/** An explorer as it knows itself: ledger → explorer. */
export function explorerPipeline(id: ActorId, report: ExplorerReport | null): Pipeline {
  const answers = report?.state === 'available' || report?.state === 'stale';
  return pipelineBehind(
    {
      lane: actorKey(id),
      upstream: { role: 'database', name: `indexer/${id.chain}` },
      service: 'explorer',
      doing: report?.state === 'stale' ? 'answers; the ledger is behind' : 'answers',
      waitsFor: 'its database',
      remedy: report?.lastError ?? 'the explorer tries again until it answers',
      carries: 'reads'
    },
    answers
  );
}
