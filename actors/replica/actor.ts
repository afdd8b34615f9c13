import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { replicaMachine } from '../../machines/sync/replica.ts';
import { connect, placeOf, statementTag } from '../../src/db/connection.ts';
import { SerialConnection } from '../../src/db/serial-connection.ts';
import { createLogger } from '../../src/log.ts';
import { ReplicaCommitment } from '../../src/replication/commitment/replica-commitment.ts';
import type { ActorNotices, MainAsks, ReplicaActorData, ReplicaAsks } from '../../src/replication/protocol.ts';
import { ReplicaBootstrap } from '../../src/replication/replica/bootstrap/bootstrap.ts';
import { ReplicaChain } from '../../src/replication/replica/catch-up/chain.ts';
import { ReplicaDispensers } from '../../src/replication/replica/following/dispensers.ts';
import { ReplicaFollower } from '../../src/replication/replica/following/follower.ts';
import { ReplicaOutcomes } from '../../src/replication/replica/outcomes.ts';
import { Replica } from '../../src/replication/replica/parts/replica.ts';
import { SourceQuorum } from '../../src/replication/replica/quorum/source-quorum.ts';
import { type ReportedReplica, replicaReport } from '../../src/replication/replica/report.ts';
import { ReplicaAudit } from '../../src/replication/replica/verifying/audit.ts';
import { ReplicaCheckpoints } from '../../src/replication/replica/verifying/checkpoints.ts';
import { ReplicaIndexMap } from '../../src/replication/replica/verifying/index-map.ts';
import { readRoots } from '../../src/replication/tables/transparency-pages.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { DatabasePulse, PULSE_LIMIT_MS } from '../runtime/thread/database-pulse.ts';
import { Effects } from '../runtime/thread/effects.ts';

const REPORT_INTERVAL_MS = 250;
const AGE_INTERVAL_MS = 5_000;
const ROOTS_LIMIT_S = 5;
const TRIAL_TIMEOUT_MS = 60_000;
/** A snapshot build may hold the pool for long. */
const TREE_TASK_DEADLINE_MS = 3_600_000;

const data = workerData as ReplicaActorData;
const { id, coordinates } = data;
const log = createLogger('replica', data.logLevel).child({ database: id });
const reader = new SerialConnection(() =>
  connect(coordinates, { tag: statementTag(coordinates.name, data.generation), statementLimitS: ROOTS_LIMIT_S })
);

const host = hostActor<ReplicaAsks, MainAsks, ActorNotices>({
  log,
  stop: async (graceMs) => {
    machine.send({ type: 'stop.requested' });
    await Promise.race([stopped.promise, sleep(graceMs, undefined, { ref: false })]);
  },
  handlers: {
    'transparency.roots': ({ page, limit }) => reader.use((connection) => readRoots(connection, page, limit)),
    'verify.request': () => {
      audit.renew();
      audit.scheduleNow('it was asked for');
      return {};
    },
    'halt.clear': async () => {
      const was = await reader.use((connection) => replica.halt.clear(connection));
      machine.send({ type: 'halt.cleared' });
      return { was };
    }
  }
});

const commitment =
  data.stateDomain === null || id.dbType !== 'indexer'
    ? null
    : new ReplicaCommitment({
        data,
        log,
        domain: data.stateDomain,
        inspect: host.observe('balanceTree'),
        changed: () => scheduleReport(),
        computeTops: (batch) => host.ask('sync/balance-tops', batch, { deadlineMs: TREE_TASK_DEADLINE_MS })
      });
const replica = new Replica(data, log, host.observe('halt'), () => scheduleReport(), commitment, host.waiting);
const sourceQuorum = new SourceQuorum(replica, () => host.observe('hashQuorum'));
const bootstrap = new ReplicaBootstrap(replica, sourceQuorum);
const chain = new ReplicaChain(replica, sourceQuorum);
const indexMap = new ReplicaIndexMap(replica, () =>
  connect(coordinates, { tag: statementTag(coordinates.name, data.generation), statementLimitS: ROOTS_LIMIT_S })
);
const checkpoints = new ReplicaCheckpoints(replica);
const audit = new ReplicaAudit(replica, host.observe('audit'));
const follower = new ReplicaFollower(replica, {
  audit,
  sourceQuorum,
  dispensers: new ReplicaDispensers(replica),
  checkpoints,
  indexMap
});
const pulseLine = new SerialConnection(
  () => connect(coordinates, { tag: statementTag(coordinates.name, data.generation) }),
  PULSE_LIMIT_MS
);
const pulse = new DatabasePulse({
  ask: () => pulseLine.use((connection) => connection.query('SELECT 1')),
  log,
  place: placeOf(coordinates),
  changed: () => scheduleReport(),
  ticked: () => tellSilence()
});
let wasSilent = false;

/** Logs when the source falls silent, and when it is heard again. */
function tellSilence(): void {
  const { silence } = replica.stream;
  if ((silence !== null) === wasSilent) return;
  wasSilent = silence !== null;
  if (silence) log.error(silence.reason);
  else log.info({ source: replica.sources.client.url }, 'the source answers again');
  scheduleReport();
}

const stopped = Promise.withResolvers<void>();
let reportTimer: NodeJS.Timeout | undefined;

const breaker = databaseBreaker(data, log, {
  trialTimeoutMs: TRIAL_TIMEOUT_MS,
  inspect: host.observe('circuitBreaker'),
  changed: () => scheduleReport()
});

const outcomes = new ReplicaOutcomes({ replica, chain, audit, sourceQuorum, breaker });

/** Runner of effects, which have the writer alone. */
const effects = new Effects({
  // That the database opens says nothing of a source that fails; a catch-up that ends says that all is well.
  proofs: ['catchUp'],
  toFault: (caught) => outcomes.toFault(caught),
  onFault: (fault, _, isNew) => log[isNew ? 'warn' : 'debug']({ err: fault }, fault.message)
});
const reported: ReportedReplica = { replica, audit, checkpoints, indexMap, breaker, pulse, effects };

const machine = createActor(
  replicaMachine.provide({
    actors: {
      inspect: effects.effect('inspect', (signal) => outcomes.inspect(signal)),
      fetchSchema: effects.effect('fetchSchema', (signal) => bootstrap.fetchSchema(signal)),
      download: effects.effect('download', (signal) => bootstrap.download(signal)),
      load: effects.effect('load', (signal) => bootstrap.load(signal)),
      check: effects.effect('check', (signal) => bootstrap.check(signal)),
      catchUp: effects.effect('catchUp', (signal, { reconcile }: { reconcile: boolean }) =>
        outcomes.catchUp(reconcile, signal)
      ),
      verify: effects.effect('verify', (signal) => outcomes.orLost(audit.verify(signal))),
      follow: effects.effect('follow', (signal) => follower.follow(signal)),
      rollBack: effects.effect('rollBack', (signal, { height }: { height: number }) => {
        audit.scheduleNow();
        return outcomes.orLost(chain.rollBack(height, signal));
      }),
      release: effects.effect('release', () => {
        sourceQuorum.close();
        audit.close();
        checkpoints.close();
        indexMap.close();
        pulse.close();
        pulseLine.destroy();
        return replica.close();
      })
    }
  }),
  {
    input: { reconnectDelayMs: data.reconnectDelayMs, jitter: Math.random, restMs: () => replica.sources.restMs },
    inspect: host.observe('replica')
  }
);

machine.subscribe((snapshot) => {
  scheduleReport();
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

/** Schedules a report; changes within a moment become one. */
function scheduleReport(): void {
  if (reportTimer) return;
  reportTimer = setTimeout(() => {
    reportTimer = undefined;
    report();
  }, REPORT_INTERVAL_MS);
}

machine.start();
// The age of what is reported grows by itself.
setInterval(scheduleReport, AGE_INTERVAL_MS).unref();
report();
