import { FOLLOWERS } from '../../src/observe/metrics/actors.ts';

const DATABASE = '{{db_type}}/{{chain}}/{{network}}';
/** A panel of the dashboard: its row, title and unit, and each query with its legend. */
type Panel = readonly [row: string, title: string, unit: string, ...queries: readonly [string, string][]];

/** Returns the query for the 99th percentile of a histogram, by one of its labels. */
const p99 = (metric: string, by: string) => `histogram_quantile(0.99, sum by (le, ${by}) (rate(${metric}_bucket[5m])))`;

/** Returns the panels of any service: readiness and answers. */
function ingressPanels(service: string, row: string): Panel[] {
  return [
    [row, 'What /readyz says', 'short', [`${service}_readiness == 1`, '{{state}}']],
    [
      row,
      'Answers by status',
      'reqps',
      [`sum by (status) (rate(${service}_http_request_seconds_count[5m]))`, '{{status}}']
    ],
    [row, 'Answers, p99', 's', [p99(`${service}_http_request_seconds`, 'route'), '{{route}}']],
    [row, 'Refusals by code', 'short', [`increase(${service}_refusals_total[5m])`, '{{code}}']]
  ];
}

/** Returns the panel of the coin node that a service asks. */
function nodePanel(service: string, row: string): Panel {
  return [
    row,
    'Coin node: answers, age of what it told',
    'short',
    [`${service}_node_up`, 'up'],
    [`${service}_node_age_seconds`, 'age, s']
  ];
}

function statementPanel(service: string, row: string): Panel {
  return [row, 'Statements, p99', 's', [p99(`${service}_query_seconds`, 'instance'), '{{instance}}']];
}

/** Returns the panels of a service whose loop is an actor. */
function loopPanels(service: string, row: string): Panel[] {
  const network = '{{chain}}/{{network}}';
  const stopped: Panel = [row, 'Upstream stopped', 's', [`${service}_upstream_stopped_seconds`, network]];
  return [
    ...ingressPanels(service, row),
    [row, 'Lag', 'short', [`${service}_lag_blocks`, network]],
    ...(FOLLOWERS.has(service) ? [stopped] : []),
    [
      row,
      'Height and tip',
      'short',
      [`${service}_height_blocks`, network],
      [`${service}_tip_blocks`, `tip ${network}`],
      [`60 * rate(${service}_blocks_total[5m])`, `a minute ${network} {{direction}}`]
    ],
    [
      row,
      'Actor: up, failed, circuit open',
      'short',
      [`${service}_actor_up`, 'up'],
      [`${service}_actor_failed`, 'failed'],
      [`${service}_circuit_open`, 'circuit open']
    ],
    [
      row,
      'Restarts by cause, restarts left, changes of state',
      'short',
      [`increase(${service}_actor_restarts_total[5m])`, '{{cause}}'],
      [`${service}_actor_restarts_left`, 'left'],
      [`rate(${service}_machine_transitions_total[5m])`, '{{machine}}']
    ],
    statementPanel(service, row),
    [
      row,
      'Messages between threads',
      's',
      [p99(`${service}_actor_ask_seconds`, 'direction'), 'p99 {{direction}}'],
      [`${service}_actor_oldest_message_seconds`, 'oldest'],
      [`${service}_actor_mailbox_length`, 'in work'],
      [`rate(${service}_actor_ask_failures_total[5m])`, '{{code}}']
    ],
    [
      row,
      'Event loop delay and garbage collection',
      's',
      [`${service}_actor_event_loop_delay_seconds`, 'delay'],
      [`rate(${service}_actor_gc_seconds_total[5m])`, 'gc']
    ],
    [row, 'Heap', 'bytes', [`${service}_actor_heap_bytes`, 'heap']]
  ];
}

/** All panels, row by row. */
export const PANELS: readonly Panel[] = [
  ['Where it stands', 'What /readyz says', 'short', ['sync_readiness == 1', '{{state}}']],
  ['Where it stands', 'Lag', 'short', ['sync_lag_blocks', DATABASE]],
  [
    'Where it stands',
    'Height and tip',
    'short',
    ['sync_height_blocks', DATABASE],
    ['sync_tip_blocks', `tip ${DATABASE}`]
  ],
  ['Where it stands', 'Blocks a minute', 'short', ['60 * rate(sync_blocks_total[5m])', `${DATABASE} {{direction}}`]],
  ['Where it stands', 'Rows a second', 'short', ['rate(sync_rows_total[5m])', `${DATABASE} {{direction}}`]],
  ['Where it stands', 'Received from sources', 'Bps', ['rate(sync_replica_received_bytes_total[5m])', DATABASE]],
  ['Where it stands', 'Progress of bootstraps and catch-ups', 'percentunit', ['sync_replica_progress_ratio', DATABASE]],
  [
    'Is it good',
    'Halted, incomplete',
    'short',
    ['sync_replica_halted', `halted ${DATABASE}`],
    ['1 - sync_replica_complete', `incomplete ${DATABASE}`]
  ],
  [
    'Is it good',
    'Verified height: digests, state roots, checkpoints',
    'short',
    ['sync_replica_verified_blocks', `digests ${DATABASE}`],
    ['sync_state_commitment_blocks', `state roots ${DATABASE}`],
    ['sync_replica_checkpoint_blocks', `checkpoints ${DATABASE}`]
  ],
  [
    'Is it good',
    'Comparisons with the source',
    'short',
    ['increase(sync_replica_digests_total[5m])', `{{outcome}} ${DATABASE}`]
  ],
  [
    'Is it good',
    'Repairs, dissents, reorgs',
    'short',
    ['sync_replica_repairs', `repairs ${DATABASE}`],
    ['sync_replica_dissents', `dissents ${DATABASE}`],
    ['sync_replica_index_map_mismatches', `index map mismatches ${DATABASE}`],
    ['sync_replica_reorgs', `reorgs ${DATABASE}`]
  ],
  [
    'Is it good',
    'Sources',
    'short',
    ['sync_replica_sources_failed', `failed ${DATABASE}`],
    ['sync_replica_sources_following', `followed or heard ${DATABASE}`]
  ],
  [
    'Why it does not move',
    'Circuit, failed polls',
    'short',
    ['sync_circuit_open', `open ${DATABASE}`],
    ['sync_poll_errors', `errors ${DATABASE}`]
  ],
  [
    'Why it does not move',
    'Silent: MariaDB, source',
    's',
    ['sync_database_silent_seconds', `MariaDB ${DATABASE}`],
    ['sync_replica_source_silent_seconds', `source ${DATABASE}`]
  ],
  [
    'Why it does not move',
    'Actors up, failed',
    'short',
    ['sync_actor_up', `up ${DATABASE}`],
    ['sync_actor_failed', `failed ${DATABASE}`]
  ],
  [
    'Why it does not move',
    'Restarts by cause, restarts left',
    'short',
    ['increase(sync_actor_restarts_total[5m])', `{{cause}} ${DATABASE}`],
    ['sync_actor_restarts_left', `left ${DATABASE}`]
  ],
  [
    'Why it does not move',
    'Changes of state',
    'short',
    ['rate(sync_machine_transitions_total[5m])', `{{machine}} ${DATABASE}`]
  ],
  ['Why it does not move', 'Hub', 'short', ['sync_hub_up', 'up']],
  ['Threads', 'Mailbox', 'short', ['sync_actor_mailbox_length', DATABASE]],
  ['Threads', 'Oldest message', 's', ['sync_actor_oldest_message_seconds', DATABASE]],
  [
    'Threads',
    'Event loop delay',
    's',
    ['sync_actor_event_loop_delay_seconds', DATABASE],
    ['nodejs_eventloop_lag_p99_seconds', 'main thread']
  ],
  [
    'Threads',
    'What runs',
    'short',
    ['count by (service, version, node) (platform_build_info)', '{{service}} {{version}}, Node {{node}}']
  ],
  ['Threads', 'Memory', 'bytes', ['sync_actor_heap_bytes', DATABASE], ['process_resident_memory_bytes', 'process']],
  [
    'Threads',
    'Messages between threads, p99',
    's',
    ['histogram_quantile(0.99, rate(sync_actor_ask_seconds_bucket[5m]))', '{{direction}}'],
    ['rate(sync_actor_ask_failures_total[5m])', `{{code}} ${DATABASE}`]
  ],
  [
    'Threads',
    'CPU and garbage collection',
    'percentunit',
    ['rate(process_cpu_seconds_total[5m])', 'cores'],
    ['rate(nodejs_gc_duration_seconds_sum[5m])', 'gc of the main thread, {{kind}}'],
    ['rate(sync_actor_gc_seconds_total[5m])', `gc ${DATABASE}`]
  ],
  [
    'Threads',
    'Statements, p99; live groups, p99',
    's',
    [
      'histogram_quantile(0.99, sum by (le, db_type, chain, network) (rate(sync_query_seconds_bucket[5m])))',
      `statement ${DATABASE}`
    ],
    [
      'histogram_quantile(0.99, sum by (le, db_type, chain, network) (rate(sync_replica_group_seconds_bucket[5m])))',
      `group ${DATABASE}`
    ]
  ],
  ['Threads', 'Tasks that wait for the pool', 'short', ['sync_task_queue_length', 'tasks']],
  ['Subscribers', 'Connected', 'short', ['sync_subscribers', DATABASE]],
  [
    'Subscribers',
    'Servers and edges',
    'short',
    ['sum by (instance) (sync_subscribers)', 'subscribers {{instance}}'],
    ['max by (instance) (sync_lag_blocks)', 'lag {{instance}}']
  ],
  ['Subscribers', 'Lag of the slowest', 'short', ['sync_subscriber_lag_blocks', DATABASE]],
  ['Subscribers', 'Largest send buffer', 'bytes', ['sync_subscriber_buffered_bytes', DATABASE]],
  [
    'Subscribers',
    'Streams in NATS',
    'short',
    ['sync_stream_waiting_messages', `waiting ${DATABASE}`],
    ['sync_stream_behind', `behind ${DATABASE}`],
    ['sync_stream_standby', `standby ${DATABASE}`]
  ],
  [
    'Subscribers',
    'Sent',
    'Bps',
    ['rate(sync_fanout_bytes_total[5m])', 'messages'],
    ['rate(sync_snapshot_bytes_total[5m])', 'snapshots']
  ],
  [
    'Subscribers',
    'Messages, drops',
    'short',
    ['rate(sync_fanout_messages_total[5m])', 'messages'],
    ['sync_fanout_queue_messages', 'waiting'],
    ['increase(sync_subscriber_drops_total[5m])', 'dropped: {{reason}}']
  ],
  [
    'Snapshots and requests',
    'Snapshots',
    'short',
    ['increase(sync_snapshots_built_total[5m])', 'built'],
    ['increase(sync_snapshots_failed_total[5m])', 'failed'],
    ['increase(sync_snapshots_shared_total[5m])', 'shared'],
    ['sync_snapshot_builds', 'running']
  ],
  ['Snapshots and requests', 'Longest build', 's', ['sync_snapshot_oldest_build_seconds', 'age']],
  [
    'Snapshots and requests',
    'Disk',
    'bytes',
    ['sync_snapshot_cache_bytes', 'artifacts'],
    ['sync_disk_free_bytes', 'free for {{of}}']
  ],
  [
    'Snapshots and requests',
    'Answers by status',
    'reqps',
    ['sum by (status) (rate(sync_http_request_seconds_count[5m]))', '{{status}}']
  ],
  ['Snapshots and requests', 'Refusals by code', 'short', ['increase(sync_refusals_total[5m])', '{{code}}']],
  [
    'Snapshots and requests',
    'Answers, p99',
    's',
    ['histogram_quantile(0.99, sum by (le, route) (rate(sync_http_request_seconds_bucket[5m])))', '{{route}}']
  ],
  ...loopPanels('decoder', 'Decoder'),
  nodePanel('decoder', 'Decoder'),
  ...loopPanels('indexer', 'Indexer'),
  ...ingressPanels('hub', 'Hub'),
  [
    'Hub',
    'Prices: missing sources, deviation, missed rounds',
    'short',
    ['hub_oracle_sources_missing', 'missing sources'],
    ['hub_oracle_deviation_percent', 'deviation, %'],
    ['hub_oracle_rounds_missed', 'missed rounds']
  ],
  [
    'Hub',
    'Set: hubs connected, missing, missing for a decision, halted, two messages for one place',
    'short',
    ['hub_peers', 'connected'],
    ['hub_consensus_missing', 'missing'],
    ['hub_consensus_lacking', 'missing for a decision'],
    ['hub_consensus_halted', 'halted'],
    ['increase(hub_equivocations_total[1h])', 'pairs for one place in an hour']
  ],
  [
    'Hub',
    'Set: log and views, a minute',
    'short',
    ['60 * deriv(hub_consensus_seq[5m])', 'batches'],
    ['60 * deriv(hub_consensus_view[5m])', 'views']
  ],
  [
    'Hub',
    'Set: time of a write',
    's',
    ['histogram_quantile(0.5, sum by (le) (rate(hub_consensus_commit_seconds_bucket[5m])))', 'half'],
    ['histogram_quantile(0.99, sum by (le) (rate(hub_consensus_commit_seconds_bucket[5m])))', '99 %']
  ],
  ['Hub', 'Set: operations that wait', 'short', ['hub_consensus_pending', 'waiting']],
  [
    'Hub',
    'Set: prices told and missed in a round',
    'short',
    ['hub_round_submissions', 'told'],
    ['hub_round_missed', 'missed']
  ],
  [
    'Hub',
    'Set: largest deviation of a price of this hub',
    'percentunit',
    ['hub_price_deviation', 'of the price that was decided']
  ],
  statementPanel('hub', 'Hub'),
  ...loopPanels('explorer', 'Explorer'),
  [
    'Explorer',
    'Copies: serving, forked, lag',
    'short',
    ['explorer_replica_serves', 'serves {{chain}}/{{network}} {{replica}}'],
    ['explorer_replica_forked', 'forked {{chain}}/{{network}} {{replica}}'],
    ['explorer_replica_lag_blocks', 'lag {{chain}}/{{network}} {{replica}}']
  ],
  ...loopPanels('tracker', 'Tracker'),
  nodePanel('tracker', 'Tracker'),
  ...ingressPanels('encoder', 'Encoder'),
  nodePanel('encoder', 'Encoder'),
  ...ingressPanels('miner', 'Miner'),
  nodePanel('miner', 'Miner')
];
/** Rows that are folded, so that only opened ones send queries. */
export const FOLDED = new Set(['Decoder', 'Indexer', 'Hub', 'Explorer', 'Tracker', 'Encoder', 'Miner']);
