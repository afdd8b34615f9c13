import type { DatabasePulse } from '../../../actors/runtime/thread/database-pulse.ts';
import { Effects } from '../../../actors/runtime/thread/effects.ts';
import type { Logger } from '../../log.ts';
import type { ReplicaBootstrap } from './bootstrap/bootstrap.ts';
import type { ReplicaChain } from './catch-up/chain.ts';
import type { ReplicaConnections } from './connections.ts';
import type { ReplicaFollower } from './following/follower.ts';
import type { ReplicaOutcomes } from './outcomes.ts';
import type { Replica } from './parts/replica.ts';
import type { SourceQuorum } from './quorum/source-quorum.ts';
import type { ReplicaAudit } from './verifying/audit.ts';
import type { ReplicaCheckpoints } from './verifying/checkpoints.ts';
import type { ReplicaIndexMap } from './verifying/index-map.ts';

/** Parts of a replica that do the work of its states. */
interface WorkingParts {
  readonly replica: Replica;
  readonly outcomes: ReplicaOutcomes;
  readonly bootstrap: Pick<ReplicaBootstrap, 'fetchSchema' | 'download' | 'load' | 'check'>;
  readonly chain: ReplicaChain;
  readonly follower: ReplicaFollower;
  readonly sourceQuorum: SourceQuorum;
  readonly audit: ReplicaAudit;
  readonly checkpoints: ReplicaCheckpoints;
  readonly indexMap: ReplicaIndexMap;
  readonly pulse: DatabasePulse;
  readonly connections: ReplicaConnections;
}

/** Returns the runner of a replica's effects, which have the writer alone. */
export function replicaEffects(outcomes: ReplicaOutcomes, log: Logger): Effects {
  return new Effects({
    // That the database opens says nothing of a source that fails; a catch-up that ends says that all is well.
    proofs: ['catchUp'],
    toFault: (caught) => outcomes.toFault(caught),
    onFault: (fault, _, isNew) => log[isNew ? 'warn' : 'debug']({ err: fault }, fault.message)
  });
}

/** Returns the effects that a replica's machine invokes, by name. */
export function replicaActors(effects: Effects, parts: WorkingParts) {
  const { replica, outcomes, bootstrap, chain, follower, sourceQuorum, audit, checkpoints, indexMap } = parts;
  return {
    inspect: effects.effect('inspect', (signal) => outcomes.inspect(signal)),
    fetchSchema: effects.effect('fetchSchema', (signal) => bootstrap.fetchSchema(signal)),
    download: effects.effect('download', (signal) => bootstrap.download(signal)),
    load: effects.effect('load', (signal) => bootstrap.load(signal)),
    check: effects.effect('check', (signal) => bootstrap.check(signal)),
    catchUp: effects.effect('catchUp', (signal, { reconcile }: { reconcile: boolean }) =>
      outcomes.catchUp(reconcile, signal)
    ),
    verify: effects.effect('verify', (signal) => outcomes.orLost(audit.verify(signal))),
    follow: effects.effect('follow', (signal) => outcomes.orLost(follower.follow(signal))),
    rollBack: effects.effect('rollBack', (signal, { height }: { height: number }) => {
      audit.scheduleNow();
      return outcomes.orLost(chain.rollBack(height, signal));
    }),
    release: effects.effect('release', () => {
      sourceQuorum.close();
      audit.close();
      checkpoints.close();
      indexMap.close();
      parts.pulse.close();
      parts.connections.pulse.destroy();
      return replica.close();
    })
  };
}
