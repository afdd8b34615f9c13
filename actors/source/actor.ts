import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { sourceMachine } from '../../machines/sync/source.ts';
import { connect, databaseError, placeOf, statementTag } from '../../src/db/connection.ts';
import { SerialConnection } from '../../src/db/serial-connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { createLogger } from '../../src/log.ts';
import { SourceRoots } from '../../src/replication/commitment/source-roots.ts';
import type { ActorNotices, MainAsks, SourceActorData, SourceAsks } from '../../src/replication/protocol.ts';
import { SourceDigests } from '../../src/replication/source/answers/digests.ts';
import { SourcePages } from '../../src/replication/source/answers/pages.ts';
import { SourceSchema } from '../../src/replication/source/answers/schema.ts';
import { SourceFeed } from '../../src/replication/source/feed/feed.ts';
import { PollPace } from '../../src/replication/source/feed/poll-pace.ts';
import { SourceTransparency } from '../../src/replication/source/feed/transparency.ts';
import { originOf } from '../../src/replication/source/reading/database-mark.ts';
import { readTip } from '../../src/replication/tables/block-hashes.ts';
import { IndexMap } from '../../src/replication/tables/index-map.ts';
import { readEpochs, readLatestEpoch, readProof, readRoots } from '../../src/replication/tables/transparency-pages.ts';
import type { SnapshotOrder, SnapshotQuery } from '../../src/wire/data/snapshot.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { DatabasePulse, PULSE_LIMIT_MS } from '../runtime/thread/database-pulse.ts';
import { Effects } from '../runtime/thread/effects.ts';

const REPORT_INTERVAL_MS = 1_000;
/** Statement limits in seconds: a poll, and everything that may take longer. */
const POLL_LIMIT_S = 5;
const STATEMENT_LIMIT_S = 60;
/** A trial of the circuit breaker is one effect, which may read blocks. */
const TRIAL_TIMEOUT_MS = 10 * 60_000;
/** The front door takes messages within seconds; a silence this long means that nobody is there. */
const BROADCAST_DEADLINE_MS = 120_000;
const TASK_DEADLINE_MS = 60_000;
/** Codes of faults that open the circuit: nothing can be read. */
const OUTAGES: ReadonlySet<string> = new Set(['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED']);
/** A snapshot build may hold the pool for long. */
const TREE_TASK_DEADLINE_MS = 3_600_000;

const data = workerData as SourceActorData;
const { id, coordinates, localTables, finderKey } = data;
const log = createLogger('source', data.logLevel).child({ database: id });
const tag = statementTag(coordinates.name, data.generation);
const reader = new SerialConnection(() =>
  connect(coordinates, { tag, statementLimitS: POLL_LIMIT_S, finderKey, several: true })
);
const open = () => connect(coordinates, { tag, statementLimitS: STATEMENT_LIMIT_S, finderKey });
const control = new SerialConnection(open);
/** Blocks wait for `reader` and `control` alone: what callers ask has connections of its own. */
const questions = new SerialConnection(open);
const logReader = new SerialConnection(open);
const digests = new SourceDigests(data, open, {
  reorgs: () => feed.reorgs,
  amendments: (height) => feed.amendmentsOf(height),
  isSettled: async (connection, layout, table, tip) =>
    (await feed.isSettled(connection, layout, table, tip)) &&
    (table !== 'sync_meta' || (await transparency.follows(connection, layout.heads!, tip.height)))
});
const pulseLine = new SerialConnection(open, PULSE_LIMIT_MS);
const ask = () => pulseLine.use((connection) => connection.query('SELECT 1'));
const pulse = new DatabasePulse({ ask, log, place: placeOf(coordinates), changed: () => report() });
const pages = new SourcePages(data, open);
const schema = new SourceSchema(data, questions, () => feed.served);
const indexMap = new IndexMap();
/** Its first reading goes through a whole table: it has a connection of its own for as long as it takes. */
const indexLine = new SerialConnection(open);

const host = hostActor<SourceAsks, MainAsks, ActorNotices>({
  log,
  stop: async (graceMs) => {
    machine.send({ type: 'stop' });
    await Promise.race([effects.ended, sleep(graceMs, undefined, { ref: false })]);
    feed.stop();
    reader.destroy();
    control.destroy();
    questions.destroy();
    logReader.destroy();
    indexLine.destroy();
    digests.destroy();
    pulse.close();
    pulseLine.destroy();
    pages.destroy();
  },
  handlers: {
    'schema.read': (known) => schema.read(known),
    'snapshot.describe': describeSnapshot,
    'snapshot.missed': async ({ since, height, hashes }) => ({
      missed: await feed.missedSince(since, { height, hashes })
    }),
    'snapshot.pauseGroups': async ({ buildId, height }) => {
      await feed.readers.pauseGroups(buildId, height);
      return {};
    },
    'snapshot.reconcile': async ({ buildId, checksums }) => {
      await feed.readers.reconcile(buildId, checksums);
      return {};
    },
    'digest.read': async ({ query }) => ({ body: await digests.read(query) }),
    'digest.challenge': async ({ key }) => ({ body: await digests.challenge(key) }),
    'digest.key': async ({ part }) => ({ body: await digests.key(part) }),
    'lookups.page': (order) => pages.lookups(order),
    'dispensers.read': (order) => pages.dispensers(order),
    'checkpoint.read': (order) => pages.checkpoint(order),
    'index-map.read': async () => {
      try {
        return await indexLine.use((connection) => indexMap.read(connection, null));
      } finally {
        indexLine.destroy();
      }
    },
    'transparency.roots': ({ page, limit }) => transparency.read((connection) => readRoots(connection, page, limit)),
    'transparency.proof': ({ blockIndex }) =>
      transparency.read((connection) => readProof(connection, blockIndex, transparency.epochSize)),
    'transparency.epochs': ({ page, limit }) => transparency.read((connection) => readEpochs(connection, page, limit)),
    'transparency.latest': () => transparency.read(readLatestEpoch)
  }
});

const transparency = new SourceTransparency({
  data,
  log,
  logWriter: control,
  logReader,
  observe: host.observe('epochCommit'),
  computeRoots: (epochs) => host.ask('sync/merkle-epochs', { epochs }, { deadlineMs: TASK_DEADLINE_MS })
});

const roots =
  data.stateDomain === null || id.dbType !== 'indexer'
    ? null
    : new SourceRoots({
        data,
        log,
        domain: data.stateDomain,
        inspect: host.observe('balanceTree'),
        open,
        changed: () => undefined, // reported with the next tick
        computeTops: (batch) => host.ask('sync/balance-tops', batch, { deadlineMs: TREE_TASK_DEADLINE_MS })
      });

const feed = new SourceFeed({
  data,
  log,
  reader,
  control,
  open,
  beginGroup: (recent, heads) => transparency.beginGroup(recent, heads),
  record: (blocks, recent, heads) => transparency.record(blocks, recent, heads),
  retime: (recent, heads) => transparency.retime(recent, heads),
  prune: (fork) => transparency.prune(fork),
  roots,
  keep: (resume) => handOver(() => host.ask('resume.keep', { resume }, { deadlineMs: BROADCAST_DEADLINE_MS })),
  broadcast: async (messages, resume, readSince) => {
    const transfer = messages.flatMap(({ bytes, infraBytes }) => [bytes, ...(infraBytes ? [infraBytes] : [])]);
    const options = {
      deadlineMs: BROADCAST_DEADLINE_MS,
      transfer: transfer.map(({ buffer }) => buffer as ArrayBuffer)
    };
    let plain = false;
    await handOver(async () => {
      plain = (await host.ask('broadcast', { messages, resume, readSince }, options)).plain === true;
    });
    return plain;
  }
});

/** The thread ends on a failure: whether it was accepted, only the successor's resume point can tell. */
async function handOver(send: () => Promise<unknown>): Promise<void> {
  try {
    await send();
  } catch (caught) {
    host.fail(caught);
  }
  report();
}

const breaker = databaseBreaker(data, log, {
  trialTimeoutMs: TRIAL_TIMEOUT_MS,
  inspect: host.observe('circuitBreaker'),
  changed: () => report()
});

const pace = new PollPace(data.pollIntervalMs);

const effects = new Effects({
  admit: async (signal) => {
    if (breaker.refuses) {
      host.waiting('the circuit breaker');
      await breaker.admission(signal);
      host.waiting(null);
    }
    breaker.tell('call.started');
  },
  onSuccess: () => breaker.tell('call.succeeded'),
  toFault: (caught) => databaseError(caught),
  onFault: (fault, effect) => {
    const pollErrorCount = effects.faultCount;
    log.warn({ err: fault, hint: fault.hint, effect, pollErrorCount }, fault.message);
    // Where a row or a setting is at fault, MariaDB answered: the reason is told, and nothing else fails fast.
    breaker.tell(OUTAGES.has(fault.code) ? 'call.failed' : 'call.succeeded');
    report();
  },
  isRetried: ({ policy }) => policy !== 'exit',
  pauseMs: (tookMs, fault) => Math.ceil(pace.pauseMs(tookMs, fault !== null))
});

const machine = createActor(
  sourceMachine.provide({
    actors: {
      start: effects.effect<void>('start', async () => {
        await transparency.prepare();
        return (await feed.start()) ? undefined : null;
      }),
      backfill: effects.effect('backfill', () => transparency.backfill()),
      poll: effects.effect('poll', async () => {
        pace.begin();
        await transparency.committed();
        const found = await feed.poll();
        if (found !== 'same') return found;
        await feed.rest();
        return null;
      }),
      broadcastGroup: effects.effect('broadcastGroup', () => feed.broadcastGroup()),
      broadcastReorg: effects.effect('broadcastReorg', () => feed.broadcastReorg())
    }
  }),
  { inspect: host.observe('source') }
);
machine.subscribe((snapshot) => {
  report();
  if (snapshot.matches('failed')) host.fail(snapshot.context.fault);
});
machine.start();
setInterval(report, REPORT_INTERVAL_MS).unref();

function report(): void {
  const { last, tip } = feed;
  host.tell('report', {
    id,
    dbName: coordinates.name,
    mode: 'server',
    phase: stateText(machine.getSnapshot().value),
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
    ...(feed.mark ? { origin: originOf(feed.mark, coordinates.name) } : {}),
    sweep: feed.sweep,
    binlog: feed.binlog,
    ...feed.settling,
    ...(roots ? { stateCommitment: roots.report } : {})
  });
}

/**
 * The key changes with everything that changes the body, another database in the same place or a reorg to blocks of the same hashes included, except in-place changes
 * between two blocks; with the schema a moment later.
 */
async function describeSnapshot({ query }: { query: SnapshotQuery }): Promise<SnapshotOrder> {
  if (feed.learned === undefined) await feed.readers.reached(-1); // what it learns at its start goes with the snapshot
  const { heads, fingerprint } = await schema.recentLayout();
  const { reorgs } = feed;
  const tip = await questions.use((connection) => readTip(connection, heads));
  if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
  if (query.inclusive && query.since !== null && query.since > tip.height) {
    throw new PlatformError('BLOCKS_CAUGHT_UP', { reason: `No data available after block ${query.since}` });
  }
  // Before its start it may learn that it does not know what it sent.
  const learned = feed.learned === undefined ? { height: tip.height, id: randomUUID() } : feed.learned;
  // What else a mark holds is of the time when it was read.
  const { place, server, created } = feed.mark ?? { place: coordinates.name, server: null, created: null };
  const key = createHash('sha256')
    .update(
      JSON.stringify([id, place, server, created, reorgs, tip.height, tip.hashes, fingerprint, query, learned?.id])
    )
    .digest('hex');
  const behind = query.since === null ? {} : { behind: Math.min(tip.height, query.until ?? tip.height) - query.since };
  return { key, id, coordinates, query, localTables, finderKey, ...(learned && { learned }), ...behind };
}
