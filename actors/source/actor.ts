import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { sourceMachine } from '../../machines/sync/source.ts';
import { placeOf } from '../../src/db/connection.ts';
import { createLogger } from '../../src/log.ts';
import { SourceRoots } from '../../src/replication/commitment/source-roots.ts';
import type { ActorNotices, MainAsks, SourceActorData, SourceAsks } from '../../src/replication/protocol.ts';
import { SourceDigests } from '../../src/replication/source/answers/digests.ts';
import { type AnsweringParts, sourceHandlers } from '../../src/replication/source/answers/handlers.ts';
import { SourcePages } from '../../src/replication/source/answers/pages.ts';
import { SourceSchema } from '../../src/replication/source/answers/schema.ts';
import { SourceConnections } from '../../src/replication/source/connections.ts';
import { sourceEffects } from '../../src/replication/source/effects.ts';
import { SourceFeed } from '../../src/replication/source/feed/feed.ts';
import { handOverTo } from '../../src/replication/source/feed/hand-over.ts';
import { PollPace } from '../../src/replication/source/feed/poll-pace.ts';
import { SourceTransparency } from '../../src/replication/source/feed/transparency.ts';
import { type ReportedSource, sourceReport } from '../../src/replication/source/report.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { DatabasePulse } from '../runtime/thread/database-pulse.ts';

const REPORT_INTERVAL_MS = 1_000;
/** A trial of the circuit breaker is one effect, which may read blocks. */
const TRIAL_TIMEOUT_MS = 10 * 60_000;
const TASK_DEADLINE_MS = 60_000;
/** A snapshot build may hold the pool for long. */
const TREE_TASK_DEADLINE_MS = 3_600_000;

const data = workerData as SourceActorData;
const { id, coordinates } = data;
const log = createLogger('source', data.logLevel).child({ database: id });
const connections = new SourceConnections(data);
const { open, reader, control, questions, logReader, indexMap } = connections;
const digests = new SourceDigests(data, open, {
  reorgs: () => feed.reorgs,
  amendments: (height) => feed.amendmentsOf(height),
  learned: () => feed.learned?.id ?? null,
  isSettled: async (connection, layout, table, tip) =>
    (await feed.isSettled(connection, layout, table, tip)) &&
    (table !== 'sync_meta' || (await transparency.follows(connection, layout.heads!, tip.height)))
});
const ask = () => connections.pulse.use((connection) => connection.query('SELECT 1'));
const pulse = new DatabasePulse({ ask, log, place: placeOf(coordinates), changed: () => report() });
const pages = new SourcePages(data, open);
const schema = new SourceSchema(data, questions, () => feed.served);

const host = hostActor<SourceAsks, MainAsks, ActorNotices>({
  log,
  stop: async (graceMs) => {
    machine.send({ type: 'stop' });
    await Promise.race([effects.ended, sleep(graceMs, undefined, { ref: false })]);
    feed.stop();
    digests.destroy();
    pulse.close();
    pages.destroy();
    connections.destroy();
  },
  handlers: sourceHandlers(() => answering)
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
  ...handOverTo(host, () => report())
});
const answering: AnsweringParts = { data, feed, schema, questions, digests, pages, transparency, indexMap };

const breaker = databaseBreaker(data, log, {
  trialTimeoutMs: TRIAL_TIMEOUT_MS,
  inspect: host.observe('circuitBreaker'),
  changed: () => report()
});

const pace = new PollPace(data.pollIntervalMs);

const effects = sourceEffects({
  breaker,
  pace,
  log,
  letGo: () => feed.letGo(),
  waiting: host.waiting,
  faulted: () => report()
});
const reported: ReportedSource = { data, feed, transparency, roots, breaker, pulse, effects };

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
  host.tell('report', sourceReport(reported, stateText(machine.getSnapshot().value)));
}
