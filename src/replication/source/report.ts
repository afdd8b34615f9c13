import type { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import type { DatabasePulse } from '../../../actors/runtime/thread/database-pulse.ts';
import type { Effects } from '../../../actors/runtime/thread/effects.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { SourceRoots } from '../commitment/source-roots.ts';
import type { SourceActorData } from '../protocol.ts';
import type { SourceFeed } from './feed/feed.ts';
import type { SourceTransparency } from './feed/transparency.ts';
import { originOf } from './reading/database-mark.ts';

/** Parts of a source that are reported. */
export interface ReportedSource {
  readonly data: Pick<SourceActorData, 'id' | 'coordinates'>;
  readonly feed: SourceFeed;
  readonly transparency: SourceTransparency;
  readonly roots: SourceRoots | null;
  readonly breaker: CircuitBreaker;
  readonly pulse: DatabasePulse;
  readonly effects: Effects;
}

/** Returns the report of a source. @param phase the state of its machine */
export function sourceReport(source: ReportedSource, phase: string): DatabaseReport {
  const { data, feed, transparency, roots, breaker, pulse, effects } = source;
  const { last, tip } = feed;
  return {
    id: data.id,
    dbName: data.coordinates.name,
    mode: 'server',
    phase,
    circuit: breaker.state,
    height: last?.height ?? null,
    blockTime: last?.blockTime ?? null,
    hashes: last?.hashes ?? null,
    tip: tip?.height ?? null,
    lagBlocks: tip && last ? Math.max(0, tip.height - last.height) : null,
    pollErrorCount: effects.faultCount,
    databaseSilentS: pulse.silentS,
    lastError: pulse.reason ?? effects.lastFault ?? feed.gap ?? transparency.missing,
    schemaFingerprint: feed.fingerprint,
    notReplicated: feed.notReplicated,
    ...(feed.mark ? { origin: originOf(feed.mark, data.coordinates.name) } : {}),
    sweep: feed.sweep,
    binlog: feed.binlog,
    ...feed.settling,
    ...(roots ? { stateCommitment: roots.report } : {})
  };
}
