import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { sourceMachine } from '../../machines/sync/source.ts';
import { placeOf } from '../../src/db/connection.ts';
import { createLogger } from '../../src/log.ts';
import type { ActorNotices, MainAsks, SourceActorData, SourceAsks } from '../../src/replication/protocol.ts';
import { sourceHandlers } from '../../src/replication/source/answers/handlers.ts';
import { sourceActors, sourceEffects } from '../../src/replication/source/effects.ts';
import { PollPace } from '../../src/replication/source/feed/poll-pace.ts';
import { type ReportedSource, sourceReport } from '../../src/replication/source/report.ts';
import { Source } from '../../src/replication/source/source.ts';
import { databaseKey } from '../../src/wire/data/database.ts';
import { stateText } from '../runtime/observe.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { databaseBreaker } from '../runtime/thread/circuit.ts';
import { DatabasePulse } from '../runtime/thread/database-pulse.ts';

const REPORT_INTERVAL_MS = 1_000;
/** A trial of the circuit breaker is one effect, which may read blocks. */
const TRIAL_TIMEOUT_MS = 10 * 60_000;

const data = workerData as SourceActorData;
const log = createLogger('source', data.logLevel).child({ database: databaseKey(data.id) });
const host = hostActor<SourceAsks, MainAsks, ActorNotices>({
  log,
  stop: async (graceMs) => {
    machine.send({ type: 'stop' });
    await Promise.race([effects.ended, sleep(graceMs, undefined, { ref: false })]);
    pulse.close();
    source.close();
  },
  handlers: sourceHandlers(() => source)
});
const source: Source = new Source(data, log, host, () => report());
const { feed, transparency, roots, connections } = source;
const ask = () => connections.pulse.use((connection) => connection.query('SELECT 1'));
const pulse = new DatabasePulse({ ask, log, place: placeOf(data.coordinates), changed: () => report() });
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

const machine = createActor(sourceMachine.provide({ actors: sourceActors(effects, source, pace) }), {
  inspect: host.observe('source')
});
machine.subscribe((snapshot) => {
  report();
  if (snapshot.matches('failed')) host.fail(snapshot.context.fault);
});
machine.start();
setInterval(report, REPORT_INTERVAL_MS).unref();

function report(): void {
  host.tell('report', sourceReport(reported, stateText(machine.getSnapshot().value)));
}
