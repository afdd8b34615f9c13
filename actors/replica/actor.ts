import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { replicaMachine } from '../../machines/sync/replica.ts';
import type { BucketBatch } from '../../src/consensus/balance-tree.ts';
import { createLogger } from '../../src/log.ts';
import { ReplicaCommitment } from '../../src/replication/commitment/replica-commitment.ts';
import type { ActorNotices, MainAsks, ReplicaActorData, ReplicaAsks } from '../../src/replication/protocol.ts';
import { ReplicaBootstrap } from '../../src/replication/replica/bootstrap/bootstrap.ts';
import { ReplicaChain } from '../../src/replication/replica/catch-up/chain.ts';
import { ReplicaConnections } from '../../src/replication/replica/connections.ts';
import { replicaActors, replicaEffects } from '../../src/replication/replica/effects.ts';
import { ReplicaDispensers } from '../../src/replication/replica/following/dispensers.ts';
import { ReplicaFollower } from '../../src/replication/replica/following/follower.ts';
import { replicaHandlers } from '../../src/replication/replica/handlers.ts';
import { ReplicaOutcomes } from '../../src/replication/replica/outcomes.ts';
import { Replica } from '../../src/replication/replica/parts/replica.ts';
import { replicaPulse } from '../../src/replication/replica/pulse.ts';
import { SourceQuorum } from '../../src/replication/replica/quorum/source-quorum.ts';
import { type ReportedReplica, replicaReport } from '../../src/replication/replica/report.ts';
import { ReplicaAudit } from '../../src/replication/replica/verifying/audit.ts';
import { ReplicaCheckpoints } from '../../src/replication/replica/verifying/checkpoints.ts';
import { ReplicaIndexMap } from '../../src/replication/replica/verifying/index-map.ts';
import { databaseKey } from '../../src/wire/data/database.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { SparseReport } from '../runtime/thread/sparse-report.ts';

const REPORT_INTERVAL_MS = 250;
const AGE_INTERVAL_MS = 5_000;
const TRIAL_TIMEOUT_MS = 60_000;
/** A snapshot build may hold the pool for long. */
const TREE_TASK_DEADLINE_MS = 3_600_000;

const data = workerData as ReplicaActorData;
const log = createLogger('replica', data.logLevel).child({ database: databaseKey(data.id) });
const connections = new ReplicaConnections(data);
const stopped = Promise.withResolvers<void>();
const { schedule: changed } = new SparseReport(() => report(), REPORT_INTERVAL_MS);
const host = hostActor<ReplicaAsks, MainAsks, ActorNotices>({
  log,
  stop: async (graceMs) => {
    machine.send({ type: 'stop.requested' });
    await Promise.race([stopped.promise, sleep(graceMs, undefined, { ref: false })]);
  },
  handlers: replicaHandlers(() => ({
    replica,
    audit,
    reader: connections.reader,
    cleared: () => machine.send({ type: 'halt.cleared' })
  }))
});
const { observe } = host;
const computeTops = (batch: BucketBatch) => host.ask('sync/balance-tops', batch, { deadlineMs: TREE_TASK_DEADLINE_MS });
const commitment = ReplicaCommitment.of({ data, log, inspect: observe('balanceTree'), changed, computeTops });
const replica = new Replica(data, log, observe('halt'), changed, commitment, host.waiting);
const sourceQuorum = new SourceQuorum(replica, () => observe('hashQuorum'));
const bootstrap = new ReplicaBootstrap(replica, sourceQuorum);
const chain = new ReplicaChain(replica, sourceQuorum);
const indexMap = new ReplicaIndexMap(replica, connections.open);
const checkpoints = new ReplicaCheckpoints(replica);
const audit = new ReplicaAudit(replica, observe('audit'));
const dispensers = new ReplicaDispensers(replica);
const follower = new ReplicaFollower(replica, { audit, sourceQuorum, dispensers, checkpoints, indexMap });
const pulse = replicaPulse(replica, connections.pulse, changed);
const breaker = databaseBreaker(data, log, {
  trialTimeoutMs: TRIAL_TIMEOUT_MS,
  inspect: observe('circuitBreaker'),
  changed
});
const outcomes = new ReplicaOutcomes({ replica, chain, audit, sourceQuorum, breaker });
const effects = replicaEffects(outcomes, log);
const working = { replica, outcomes, bootstrap, chain, follower, sourceQuorum, audit, checkpoints, indexMap };
const actors = replicaActors(effects, { ...working, pulse, connections });
const reported: ReportedReplica = { replica, audit, checkpoints, indexMap, breaker, pulse, effects };

const machine = createActor(replicaMachine.provide({ actors }), {
  input: { reconnectDelayMs: data.reconnectDelayMs, jitter: Math.random, restMs: () => replica.sources.restMs },
  inspect: observe('replica')
});
machine.subscribe((snapshot) => {
  changed();
  if (snapshot.matches('halted')) sourceQuorum.close();
  if (snapshot.matches('stopped')) stopped.resolve();
  if (snapshot.matches('failed')) {
    report();
    host.fail(snapshot.context.fault);
  }
});

function report(): void {
  host.tell('report', replicaReport(reported, stateText(machine.getSnapshot().value)));
}

machine.start();
// The age of what is reported grows by itself.
setInterval(changed, AGE_INTERVAL_MS).unref();
report();
