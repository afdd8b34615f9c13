import type { Registry } from 'prom-client';
import { type DescribeEach, gaugesOf } from '../actors.ts';
import type { MeasuredDatabase, MeasuredProcess } from './measured.ts';

type Each = DescribeEach<MeasuredDatabase>;

/** Registers gauges of sync, read from the last reports of its actors. */
export function describeDatabases(registry: Registry, { databases, mode }: MeasuredProcess): void {
  const each = gaugesOf(registry, 'sync', databases);
  each('poll_errors', 'failed polls in a row', ({ report }) => report?.pollErrorCount);
  each(
    'database_silent_seconds',
    'seconds for which its MariaDB has answered nothing',
    ({ report }) => report?.databaseSilentS
  );
  each(
    'state_commitment_blocks',
    'last block of which the state root was computed (server), and compared (client)',
    ({ report }) => report?.stateCommitment?.height
  );
  if (mode === 'client') describeReplicas(each);
  else {
    each('subscribers', 'connected subscribers', ({ subscribers }) => subscribers.length);
    each('subscriber_lag_blocks', 'lag of the slowest subscriber that reports', ({ subscribers }) =>
      subscribers.reduce((most, { lag }) => Math.max(most, lag ?? 0), 0)
    );
    each('subscriber_buffered_bytes', 'largest send buffer of a subscriber', ({ subscribers }) =>
      subscribers.reduce((most, { bufferedBytes }) => Math.max(most, bufferedBytes), 0)
    );
    each('stream_behind', '1 while its stream in NATS is not written', ({ stream }) =>
      stream ? Number(stream.state === 'away') : null
    );
    each('stream_standby', '1 while another server writes its stream', ({ stream }) =>
      stream ? Number(stream.state === 'standby') : null
    );
    each('stream_waiting_messages', 'messages that wait to be in its stream', ({ stream }) => stream?.waiting);
  }
}

function describeReplicas(each: Each): void {
  each('replica_halted', '1 while halted', ({ report }) => report?.replica && Number(report.replica.halt !== null));
  each(
    'replica_complete',
    '1 once it is bootstrapped',
    ({ report }) => report?.replica && Number(report.replica.complete)
  );
  each('replica_progress_ratio', 'of the bootstrap or catch-up under way', ({ report }) =>
    report?.replica?.percent === undefined || report.replica.percent === null ? null : report.replica.percent / 100
  );
  each(
    'replica_verified_blocks',
    'last height that was found equal to the source',
    ({ report }) => report?.replica?.verifiedHeight
  );
  each(
    'replica_sources_following',
    'sources that are followed or heard',
    ({ report }) => report?.replica?.sources.filter(({ state }) => state === 'followed' || state === 'heard').length
  );
  each(
    'replica_checkpoint_blocks',
    'highest checkpoint of a quorum that it agrees with',
    ({ report }) => report?.replica?.checkpointHeight
  );
  each('replica_repairs', 'times that differing rows were replaced', ({ report }) => report?.replica?.repairs);
  each(
    'replica_source_silent_seconds',
    'seconds for which nothing was heard of its source, or of the MariaDB of the source',
    ({ report }) => report?.replica?.sourceSilentS
  );
  each('replica_reorgs', 'rollbacks of this start', ({ report }) => report?.replica?.reorgs);
  each(
    'replica_sources_failed',
    'sources that do not answer or were left',
    ({ report }) => report?.replica?.sources.filter(({ error }) => error !== null).length
  );
  each('replica_dissents', 'times that sources named another block than the majority', ({ report }) =>
    report?.replica?.sources.reduce((sum, { dissents }) => sum + dissents, 0)
  );
  each(
    'replica_index_map_mismatches',
    'times that the index of addresses differed from the source',
    ({ report }) => report?.replica?.indexMapMismatches
  );
}
