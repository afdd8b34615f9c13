import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { type Inspection, type Outcome, replicaMachine } from '../../machines/sync/replica.ts';
import { connect, databaseError, isLacking, placeOf, statementTag } from '../../src/db/connection.ts';
import { SerialConnection } from '../../src/db/serial-connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { createLogger } from '../../src/log.ts';
import { ReplicaCommitment } from '../../src/replication/commitment/replica-commitment.ts';
import type { ActorNotices, MainAsks, ReplicaActorData, ReplicaAsks } from '../../src/replication/protocol.ts';
import { refuseLoss } from '../../src/replication/replica/apply/adoption.ts';
import { adopt } from '../../src/replication/replica/bootstrap/adoption.ts';
import { ReplicaBootstrap } from '../../src/replication/replica/bootstrap/bootstrap.ts';
import { ReplicaChain } from '../../src/replication/replica/catch-up/chain.ts';
import { ReplicaDispensers } from '../../src/replication/replica/following/dispensers.ts';
import { ReplicaFollower } from '../../src/replication/replica/following/follower.ts';
import { markMissing } from '../../src/replication/replica/parts/doubt.ts';
import { Replica } from '../../src/replication/replica/parts/replica.ts';
import { ReplicaLost } from '../../src/replication/replica/parts/replica-lost.ts';
import { SourceQuorum } from '../../src/replication/replica/quorum/source-quorum.ts';
import { ReplicaAudit } from '../../src/replication/replica/verifying/audit.ts';
import { ReplicaCheckpoints } from '../../src/replication/replica/verifying/checkpoints.ts';
import { ReplicaIndexMap } from '../../src/replication/replica/verifying/index-map.ts';
import { readRoots } from '../../src/replication/tables/transparency-pages.ts';
import type { DatabaseReport } from '../../src/wire/state/report.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { DatabasePulse, PULSE_LIMIT_MS } from '../runtime/thread/database-pulse.ts';
import { Effects } from '../runtime/thread/effects.ts';

const REPORT_INTERVAL_MS = 250;
const AGE_INTERVAL_MS = 5_000;
const ROOTS_LIMIT_S = 5;
const TRIAL_TIMEOUT_MS = 60_000;
/** A source that contradicts the replica again within this time is believed. */
const CONTRADICTED_MS = 600_000;
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
  else log.info({ source: replica.sources.client.url }, 'the source is heard again');
  scheduleReport();
}

const stopped = Promise.withResolvers<void>();
let reportTimer: NodeJS.Timeout | undefined;

const breaker = databaseBreaker(data, log, {
  trialTimeoutMs: TRIAL_TIMEOUT_MS,
  inspect: host.observe('circuitBreaker'),
  changed: () => scheduleReport()
});

/** Runs alone on the writer; after a fault, connection and stream are dropped. */
const effects = new Effects({
  // That the database opens says nothing of a source that fails; a catch-up that ends says that all is well.
  proofs: ['catchUp'],
  toFault: (caught) => {
    const fault = asFault(caught);
    if (fault.code === 'DATABASE_UNAVAILABLE') breaker.tell('call.failed');
    return replica.drop(fault);
  },
  onFault: (fault, _, isNew) => log[isNew ? 'warn' : 'debug']({ err: fault }, fault.message)
});

/** A statement named a table or column that the replica does not have. */
function lacks(caught: unknown): boolean {
  return isLacking(caught) || (caught instanceof PlatformError && isLacking(caught.detail));
}

/** Driver errors carry a number; any other error that is not a PlatformError is a bug. */
function asFault(caught: unknown): PlatformError {
  if (lacks(caught)) {
    replica.store.isTorn = true;
    const reason = `the replica was changed by hand: ${(caught as Error).message}; it is made again and loaded from its source`;
    return new PlatformError('ROW_CONTRADICTION', { reason });
  }
  if (caught instanceof ReplicaLost) return new PlatformError('ROW_CONTRADICTION', { reason: caught.message });
  const { errno, fatal } = caught as { errno?: unknown; fatal?: unknown };
  return errno !== undefined || fatal !== undefined
    ? databaseError(caught, { database: coordinates.name })
    : PlatformError.from(caught);
}

let contradictedAt = Number.NEGATIVE_INFINITY;

/** An outcome, or `lost` where only a bootstrap helps: one contradiction alone empties no replica. */
async function orLost(work: Promise<Outcome>): Promise<Outcome> {
  try {
    return await work;
  } catch (caught) {
    if (!(caught instanceof ReplicaLost)) throw caught;
    audit.scheduleNow();
    const isFirst = performance.now() - contradictedAt > CONTRADICTED_MS;
    contradictedAt = performance.now();
    if (isFirst) throw caught;
    refuseLoss(replica.store.state, caught.message);
    log.error({ err: caught }, 'the replica contradicts its source: bootstrapping it again');
    replica.drop(new PlatformError('ROW_CONTRADICTION', { reason: caught.message }));
    await replica.open();
    return { kind: 'lost' };
  }
}

/** A catch-up is followed by a comparison, at once or when the amendments of its last block have come. */
async function catchUp(reconcile: boolean, signal: AbortSignal): Promise<Outcome> {
  audit.close();
  const outcome = await chain.catchUp(reconcile, signal);
  if (outcome.kind === 'settling') audit.scheduleNow('it was not compared since it caught up');
  return outcome;
}

async function inspect(signal: AbortSignal): Promise<Inspection> {
  if (breaker.refuses) {
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: `circuit breaker open for ${id.chain}/${id.network}` });
  }
  breaker.tell('call.started');
  await replica.open(() => adopt(replica, signal));
  if (replica.store.isTorn && replica.store.state.height !== null) await markMissing(replica);
  audit.renew();
  sourceQuorum.attend();
  breaker.tell('call.succeeded');
  const { height, phase } = replica.store.state;
  return { halted: replica.halt.current !== null, bootstrapped: height !== null && phase !== 'bootstrapping' };
}

const machine = createActor(
  replicaMachine.provide({
    actors: {
      inspect: effects.effect('inspect', inspect),
      fetchSchema: effects.effect('fetchSchema', (signal) => bootstrap.fetchSchema(signal)),
      download: effects.effect('download', (signal) => bootstrap.download(signal)),
      load: effects.effect('load', (signal) => bootstrap.load(signal)),
      check: effects.effect('check', (signal) => bootstrap.check(signal)),
      catchUp: effects.effect('catchUp', (signal, { reconcile }: { reconcile: boolean }) =>
        orLost(catchUp(reconcile, signal))
      ),
      verify: effects.effect('verify', (signal) => orLost(audit.verify(signal))),
      follow: effects.effect('follow', (signal) => follower.follow(signal)),
      rollBack: effects.effect('rollBack', (_, { height }: { height: number }) => {
        audit.scheduleNow();
        return orLost(chain.rollBack(height));
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

const ownIds = (tables: readonly string[]) => Object.fromEntries(tables.map((table) => [table, 'own' as const]));

function report(): void {
  const state = replica.store.knownState;
  const tip = replica.announcedTip;
  const body: DatabaseReport = {
    id,
    dbName: coordinates.name,
    mode: 'client',
    phase: stateText(machine.getSnapshot().value),
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
  host.tell('report', body);
}

/** A report soon: changes within a moment become one. */
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
