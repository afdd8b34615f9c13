import { Gauge, type Registry } from 'prom-client';
import { DATABASE, labelsOf } from './labels.ts';
import type { MeasuredDatabase, MeasuredProcess } from './measured.ts';

type Each = (name: string, help: string, read: (database: MeasuredDatabase) => number | null | undefined) => unknown;

/** Gauges that are read from what the actors last said; a value that is not known has no line. */
export function describeDatabases(registry: Registry, { databases, mode }: MeasuredProcess): void {
  const each: Each = (name, help, read) =>
    new Gauge({
      name,
      help,
      labelNames: [...DATABASE],
      registers: [registry],
      collect() {
        this.reset();
        for (const database of databases()) {
          const value = read(database);
          if (value !== null && value !== undefined) this.set(labelsOf(database.actor.id), value);
        }
      }
    });
  each('sync_height_blocks', 'last block sent (server) or applied (client)', ({ report }) => report?.height);
  each(
    'sync_tip_blocks',
    'tip of the database (server) or best tip of the sources (client)',
    ({ report }) => report?.tip
  );
  each('sync_lag_blocks', 'tip minus height', ({ report }) => report?.lagBlocks);
  each('sync_poll_errors', 'failed polls in a row', ({ report }) => report?.pollErrorCount);
  each(
    'sync_circuit_open',
    '1 while the circuit breaker is open',
    ({ report }) => report && Number(report.circuit === 'open')
  );
  each('sync_actor_up', '1 while the thread runs', ({ actor }) => Number(actor.state === 'running'));
  each('sync_actor_failed', '1 while it stays down until an operator acts', ({ actor }) =>
    Number(actor.state === 'failed' || actor.state === 'parked')
  );
  each('sync_actor_restarts_left', 'restarts left in the window', ({ actor }) =>
    Math.max(0, actor.restarts.budget - actor.restarts.inWindow)
  );
  each('sync_actor_mailbox_length', 'messages in work', ({ actor }) => actor.beacon?.mailboxDepth);
  each('sync_actor_oldest_message_seconds', 'age of the oldest message in work', ({ actor }) =>
    actor.beacon ? actor.beacon.oldestMs / 1000 : null
  );
  each('sync_actor_event_loop_delay_seconds', 'longest delay in the last second', ({ actor }) =>
    actor.beacon ? actor.beacon.eventLoopDelayMs / 1000 : null
  );
  each('sync_actor_heap_bytes', 'heap in use', ({ actor }) => actor.beacon?.heapUsedBytes);
  each(
    'sync_state_commitment_blocks',
    'last block of which the state root was computed (server), and compared (client)',
    ({ report }) => report?.stateCommitment?.height
  );
  if (mode === 'client') describeReplicas(each);
  else {
    each('sync_subscribers', 'connected subscribers', ({ subscribers }) => subscribers.length);
    each('sync_subscriber_lag_blocks', 'lag of the slowest subscriber that reports', ({ subscribers }) =>
      Math.max(0, ...subscribers.map(({ lag }) => lag ?? 0))
    );
    each('sync_subscriber_buffered_bytes', 'largest send buffer of a subscriber', ({ subscribers }) =>
      Math.max(0, ...subscribers.map(({ bufferedBytes }) => bufferedBytes))
    );
  }
}

function describeReplicas(each: Each): void {
  each(
    'sync_replica_halted',
    '1 while halted',
    ({ report }) => report?.replica && Number(report.replica.halt !== null)
  );
  each(
    'sync_replica_complete',
    '1 once it is bootstrapped',
    ({ report }) => report?.replica && Number(report.replica.complete)
  );
  each('sync_replica_progress_ratio', 'of the bootstrap or catch-up under way', ({ report }) =>
    report?.replica?.percent === undefined || report.replica.percent === null ? null : report.replica.percent / 100
  );
  each(
    'sync_replica_verified_blocks',
    'last height that was found equal to the source',
    ({ report }) => report?.replica?.verifiedHeight
  );
  each(
    'sync_replica_sources_following',
    'sources that are followed or heard',
    ({ report }) => report?.replica?.sources.filter(({ state }) => state === 'followed' || state === 'heard').length
  );
  each(
    'sync_replica_checkpoint_blocks',
    'highest checkpoint of a quorum that it agrees with',
    ({ report }) => report?.replica?.checkpointHeight
  );
  each('sync_replica_repairs', 'times that differing rows were replaced', ({ report }) => report?.replica?.repairs);
  each('sync_replica_reorgs', 'rollbacks of this start', ({ report }) => report?.replica?.reorgs);
  each(
    'sync_replica_sources_failed',
    'sources that do not answer or were left',
    ({ report }) => report?.replica?.sources.filter(({ error }) => error !== null).length
  );
  each('sync_replica_dissents', 'times that sources named another block than the majority', ({ report }) =>
    report?.replica?.sources.reduce((sum, { dissents }) => sum + dissents, 0)
  );
  each(
    'sync_replica_index_map_mismatches',
    'times that the index of addresses differed from the source',
    ({ report }) => report?.replica?.indexMapMismatches
  );
}
