import type { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import type { DatabasePulse } from '../../../actors/runtime/thread/database-pulse.ts';
import type { Effects } from '../../../actors/runtime/thread/effects.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { Replica } from './parts/replica.ts';
import type { ReplicaAudit } from './verifying/audit.ts';
import type { ReplicaCheckpoints } from './verifying/checkpoints.ts';
import type { ReplicaIndexMap } from './verifying/index-map.ts';

/** Parts of a replica that are reported. */
export interface ReportedReplica {
  readonly replica: Replica;
  readonly audit: ReplicaAudit;
  readonly checkpoints: ReplicaCheckpoints;
  readonly indexMap: ReplicaIndexMap;
  readonly breaker: CircuitBreaker;
  readonly pulse: DatabasePulse;
  readonly effects: Effects;
}

const ownIds = (tables: readonly string[]) => Object.fromEntries(tables.map((table) => [table, 'own' as const]));

/** Returns the report of a replica. @param phase the state of its machine */
export function replicaReport(reported: ReportedReplica, phase: string): DatabaseReport {
  const { replica, audit, checkpoints, indexMap, breaker, pulse, effects } = reported;
  const { data, commitment } = replica;
  const state = replica.store.knownState;
  const tip = replica.announcedTip;
  return {
    id: data.id,
    dbName: data.coordinates.name,
    mode: 'client',
    phase,
    circuit: breaker.state,
    height: state?.height ?? null,
    blockTime: state?.blockTime ?? null,
    hashes: state?.hashes ?? null,
    tip,
    lagBlocks: tip === null || state?.height == null ? null : Math.max(0, tip - state.height),
    pollErrorCount: effects.faultCount,
    databaseSilentS: pulse.silentS,
    lastError: pulse.reason ?? replica.stream.silence?.reason ?? effects.lastFault,
    schemaFingerprint: state?.schemaFingerprint ?? null,
    notReplicated: state?.notReplicated ?? {},
    settledHeight: state?.settledHeight ?? null,
    ...(commitment ? { stateCommitment: commitment.report } : {}),
    replica: {
      complete: state?.complete ?? false,
      settling: state ? state.phase === 'following' && !state.complete && !state.misses : false,
      percent: replica.progress.percent,
      rowsPerSecond: replica.progress.pace?.rowsPerSecond ?? null,
      etaSeconds: replica.progress.pace?.etaSeconds ?? null,
      halt: replica.halt.current,
      verification: audit.state,
      verificationReason: audit.reason,
      comparing: audit.comparing,
      unconfirmed: audit.unconfirmed,
      verifiedHeight: state?.verifiedHeight ?? null,
      verifiedAt: state?.verifiedAt ?? null,
      dispensers: state?.dispensers ?? null,
      repairs: state?.repairs ?? 0,
      ids: state ? { '*': state.ids.source === null ? 'own' : 'source', ...ownIds(state.ids.own) } : {},
      floor: state?.floor ?? null,
      infraOnly: data.infraOnly ?? false,
      indexMapMismatches: indexMap.mismatches,
      checkpointHeight: checkpoints.anchoredHeight,
      sources: replica.sources.records,
      reorgs: replica.progress.reorgs,
      sourceSilentS: replica.stream.silence?.seconds ?? 0
    }
  };
}
