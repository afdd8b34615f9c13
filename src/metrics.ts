import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ActorView } from '../actors/actor-view.ts';
import type { TimelineEntry } from '../actors/timeline.ts';
import { DIGEST_OUTCOMES, type Tally, takeTally } from './tally.ts';
import type { DatabaseId } from './wire/database.ts';
import type { DatabaseReport } from './wire/report.ts';

/** One database as the metrics see it. */
export interface MeasuredDatabase {
  readonly actor: Pick<ActorView, 'id' | 'state' | 'restarts' | 'beacon'>;
  readonly report: DatabaseReport | undefined;
  readonly subscribers: readonly { readonly lag: number | null; readonly bufferedBytes: number }[];
}

/** What is read when someone asks for the metrics; nothing is measured while nobody does. */
export interface MetricSources {
  readonly mode: 'server' | 'client';
  databases(): readonly MeasuredDatabase[];
  /** Since the start: what the fan-out sent, and whom it dropped, by reason. */
  fanOut(): {
    readonly messages: number;
    readonly bytes: number;
    readonly drops: Readonly<Record<string, number>>;
    /** Messages that wait for their turn. */
    readonly queued: number;
  };
  /** Since the start: snapshots that were built, failed, and were served from an artifact that was there. */
  snapshots(): {
    readonly built: number;
    readonly failed: number;
    readonly shared: number;
    readonly running: number;
    readonly bytes: number;
    /** Age of the build that runs longest; 0 when none runs. */
    readonly oldestBuildMs: number;
  };
  /** Whether the hub answered when it was asked last; null before. */
  hubIsUp(): boolean | null;
  /** Tasks that wait for a thread of the pool. */
  waitingTasks(): number;
  /** Free bytes by what lies there. */
  freeBytes(): Promise<Readonly<Record<string, number>>>;
}

/** Everything that `GET /metrics` tells. */
export interface Metrics {
  readonly contentType: string;
  /** In the Prometheus text format. */
  render(): Promise<string>;
  /** Counts what happened to an actor. */
  note(entry: TimelineEntry): void;
  /** Adds what an actor's thread counted. */
  add(id: DatabaseId, tally: Tally): void;
  /** Counts a request that was not served. @param code of ERRORS, or the framework's */
  refused(code: string): void;
  /** Counts one answer of the front door. @param route the route's pattern, never the path that was asked for */
  answered(route: string, method: string, status: number, seconds: number): void;
}

const DATABASE = ['db_type', 'chain', 'network'] as const;
const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

type DatabaseLabels = Record<(typeof DATABASE)[number], string>;

/** @see https://prometheus.io/docs/practices/naming/ */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames: [...labelNames], registers });

  describeDatabases(registry, sources);
  describeServing(registry, sources);
  describeHouse(registry, sources);

  const restarts = counter('sync_actor_restarts_total', 'deaths of an actor, by cause', [...DATABASE, 'cause']);
  const transitions = counter('sync_machine_transitions_total', 'changes of state, by machine', [
    ...DATABASE,
    'machine'
  ]);
  const blocks = counter('sync_blocks_total', 'blocks sent (out) or applied (in)', [...DATABASE, 'direction']);
  const failedAsks = counter('sync_actor_ask_failures_total', 'messages that were refused or failed', [
    ...DATABASE,
    'code'
  ]);
  const asks = new Histogram({
    name: 'sync_actor_ask_seconds',
    help: 'time from a message to its reply',
    labelNames: ['direction'],
    buckets: SECONDS,
    registers
  });
  const requests = new Histogram({
    name: 'sync_http_request_seconds',
    help: 'answers of the front door, by route and status',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers
  });

  const refusals = counter('sync_refusals_total', 'requests that were refused or failed, by code', ['code']);
  const counted = describeTallies(registry, sources.mode);

  return {
    contentType: registry.contentType,
    render: () => {
      counted({}, takeTally()); // the main thread's own
      return registry.metrics();
    },
    add: (id, tally) => counted(labelsOf(id), tally),
    refused: (code) => refusals.inc({ code }),
    answered: (route, method, status, seconds) => requests.observe({ route, method, status }, seconds),
    note(entry) {
      const labels = labelsOf(entry.actor);
      if (entry.kind === 'death') restarts.inc({ ...labels, cause: entry.cause });
      else if (entry.kind === 'transition') transitions.inc({ ...labels, machine: entry.machine });
      else if (entry.kind === 'blocks')
        blocks.inc({ ...labels, direction: entry.direction }, entry.last - entry.first + 1);
      else if (entry.kind === 'message') {
        asks.observe({ direction: entry.direction }, entry.ms / 1000);
        if (entry.error) failedAsks.inc({ ...labels, code: entry.error });
      }
    }
  };
}

function labelsOf({ dbType, chain, network }: ActorView['id']): DatabaseLabels {
  return { db_type: dbType, chain, network };
}

/** What threads counted, whichever they are. */
function describeTallies(registry: Registry, mode: MetricSources['mode']) {
  const registers = [registry];
  const labelNames = [...DATABASE];
  const queries = new Histogram({
    name: 'sync_query_seconds',
    help: 'statements at MariaDB, from sending to the end of the result',
    labelNames,
    buckets: SECONDS,
    registers
  });
  const gc = new Counter({
    name: 'sync_actor_gc_seconds_total',
    help: 'garbage collection of the thread',
    labelNames,
    registers
  });
  const rows = new Counter({
    name: 'sync_rows_total',
    help: 'rows sent in blocks (out), or taken from sources in blocks and snapshots (in)',
    labelNames: [...labelNames, 'direction'],
    registers
  });
  const only = mode === 'server' ? describeSnapshotBytes(registers) : describeReceived(registers);
  return (labels: Partial<DatabaseLabels>, { counts, queryMs, work }: Tally): void => {
    for (const ms of queryMs) queries.observe(labels, ms / 1000);
    if (counts.gcMs) gc.inc(labels, counts.gcMs / 1000);
    for (const direction of ['in', 'out'] as const) {
      const count = counts[`rows.${direction}`];
      if (count) rows.inc({ ...labels, direction }, count);
    }
    only(labels, { counts, queryMs, work });
  };
}

type Counted = (labels: Partial<DatabaseLabels>, tally: Tally) => void;

function describeSnapshotBytes(registers: Registry[]): Counted {
  const bytes = new Counter({
    name: 'sync_snapshot_bytes_total',
    help: 'bytes of snapshots that were sent',
    registers
  });
  return (_, { counts }) => bytes.inc(counts['snapshotBytes.out'] ?? 0);
}

function describeReceived(registers: Registry[]): Counted {
  const bytes = new Counter({
    name: 'sync_replica_received_bytes_total',
    help: 'bytes of snapshots and messages that sources sent',
    labelNames: [...DATABASE],
    registers
  });
  const digests = new Counter({
    name: 'sync_replica_digests_total',
    help: 'comparisons with the source, by outcome; repaired counts tables',
    labelNames: [...DATABASE, 'outcome'],
    registers
  });
  const groups = new Histogram({
    name: 'sync_replica_group_seconds',
    help: 'groups of live blocks, from the last message to the commit',
    labelNames: [...DATABASE],
    buckets: SECONDS,
    registers
  });
  return (labels, { counts, work }) => {
    if (counts['bytes.in']) bytes.inc(labels, counts['bytes.in']);
    for (const outcome of DIGEST_OUTCOMES) {
      const count = counts[`digest.${outcome}`];
      if (count) digests.inc({ ...labels, outcome }, count);
    }
    for (const { name, from, to } of work) if (name === 'blocks.apply') groups.observe(labels, (to - from) / 1000);
  };
}

/** Gauges that are read from what the actors last said; a value that is not known has no line. */
function describeDatabases(registry: Registry, { databases, mode }: MetricSources): void {
  const each = (name: string, help: string, read: (database: MeasuredDatabase) => number | null | undefined) =>
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
    Number(actor.state === 'failed' || actor.state === 'halted')
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

type Each = (name: string, help: string, read: (database: MeasuredDatabase) => number | null | undefined) => unknown;

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

/** Counts that the fan-out and the artifact store keep themselves. */
function describeServing(registry: Registry, { fanOut, snapshots, mode }: MetricSources): void {
  if (mode !== 'server') return;
  const registers = [registry];
  const total = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      }
    });
  total('sync_fanout_messages_total', 'messages handed to sockets', () => fanOut().messages);
  total('sync_fanout_bytes_total', 'bytes handed to sockets', () => fanOut().bytes);
  total('sync_snapshots_built_total', 'snapshots built', () => snapshots().built);
  total('sync_snapshots_failed_total', 'snapshot builds that failed', () => snapshots().failed);
  total('sync_snapshots_shared_total', 'requests served from a snapshot that was there', () => snapshots().shared);
  new Gauge({
    name: 'sync_snapshot_builds',
    help: 'snapshot builds that run',
    registers,
    collect() {
      this.set(snapshots().running);
    }
  });
  new Gauge({
    name: 'sync_snapshot_oldest_build_seconds',
    help: 'age of the build that runs longest',
    registers,
    collect() {
      this.set(snapshots().oldestBuildMs / 1000);
    }
  });
  new Gauge({
    name: 'sync_snapshot_cache_bytes',
    help: 'artifacts kept',
    registers,
    collect() {
      this.set(snapshots().bytes);
    }
  });
  new Gauge({
    name: 'sync_fanout_queue_messages',
    help: 'messages that wait to be handed to sockets',
    registers,
    collect() {
      this.set(fanOut().queued);
    }
  });
  new Counter({
    name: 'sync_subscriber_drops_total',
    help: 'subscribers that were disconnected, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(fanOut().drops)) this.inc({ reason }, count);
    }
  });
}

function describeHouse(registry: Registry, { hubIsUp, waitingTasks, freeBytes }: MetricSources): void {
  new Gauge({
    name: 'sync_hub_up',
    help: '1 while the hub answers',
    registers: [registry],
    collect() {
      this.set(Number(hubIsUp() ?? false));
    }
  });
  new Gauge({
    name: 'sync_task_queue_length',
    help: 'tasks that wait for a thread of the pool',
    registers: [registry],
    collect() {
      this.set(waitingTasks());
    }
  });
  new Gauge({
    name: 'sync_disk_free_bytes',
    help: 'free disk where state and downloads, and where snapshots lie',
    labelNames: ['of'],
    registers: [registry],
    async collect() {
      for (const [of, bytes] of Object.entries(await freeBytes())) this.set({ of }, bytes);
    }
  });
}
