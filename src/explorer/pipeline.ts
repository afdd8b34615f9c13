import { type ActorId, actorKey } from '../wire/state/actor.ts';
import { alarmText } from '../wire/state/alarm.ts';
import type { Pipeline } from '../wire/state/pipeline.ts';
import { pipelineBehind } from '../wire/state/pipeline.ts';
import { type ExplorerReport, lagOf } from './report.ts';

/** Returns an explorer as it knows itself: ledger → explorer. */
export function explorerPipeline(id: ActorId, report: ExplorerReport | null): Pipeline {
  const answers = report?.state === 'available' || report?.state === 'stale';
  const { nodes, edges } = pipelineBehind(
    {
      lane: actorKey(id),
      upstream: { role: 'database', name: `indexer/${id.chain}` },
      service: 'explorer',
      doing: report?.state === 'stale' ? 'answers; the ledger is behind' : 'answers',
      waitsFor: 'its database',
      remedy: report?.lastError ?? alarmText(report?.upstream) ?? 'the explorer tries again until it answers',
      carries: 'reads'
    },
    answers
  );
  const height = report?.height ?? null;
  const lag = report && lagOf(report);
  return { nodes: nodes.map((node) => ({ ...node, height })), edges: edges.map((edge) => ({ ...edge, lag })) };
}
