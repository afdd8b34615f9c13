import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DASHBOARD_FILE, renderDashboard } from '../../../scripts/documents/dashboard.ts';
import { describeHubSet } from '../../../src/observe/metrics/hub-set.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';
import { describeNode } from '../../../src/observe/metrics/node.ts';
import { describeOracle } from '../../../src/observe/metrics/oracle.ts';
import type { MeasuredDatabase } from '../../../src/observe/metrics/sync/measured.ts';
import { createSyncMetrics } from '../../../src/observe/metrics/sync/metrics.ts';
import { INDEXER, openFrontDoor, reportOf } from '../../support/sync/front-door.ts';

const ALERTS = readFileSync(join(import.meta.dirname, '../../../ops/alerts.yml'), 'utf8');
const replica = {
  complete: true,
  percent: 50,
  rowsPerSecond: null,
  etaSeconds: null,
  halt: { block_index: 5, reason: 'x', mismatches: null, sources: null, detected_at: '' },
  verification: 'verified' as const,
  unconfirmed: [],
  verifiedHeight: 6,
  verifiedAt: '',
  repairs: 2,
  ids: {},
  dispensers: null,
  floor: null,
  infraOnly: false,
  checkpointHeight: null,
  indexMapMismatches: 4,
  sources: [{ url: 'http://a', state: 'failed', height: 9, error: 'no answer', dissents: 3, digests: null }],
  reorgs: 1
};

function measured(mode: 'server' | 'client'): MeasuredDatabase {
  return {
    actor: {
      id: INDEXER,
      state: 'running',
      restarts: { inWindow: 3, budget: 10, total: 3, causes: [] },
      beacon: {
        mailboxDepth: 2,
        oldestMs: 1500,
        heapUsedBytes: 10,
        eventLoopDelayMs: 4,
        cpuMs: 200,
        at: 0,
        silentMs: 0
      }
    },
    report: reportOf(INDEXER, mode === 'client' ? { mode, replica } : { circuit: 'open' }),
    subscribers: [
      { lag: 4, bufferedBytes: 100 },
      { lag: null, bufferedBytes: 300 }
    ],
    ...(mode === 'server' ? { stream: { state: 'away', waiting: 8 } } : {})
  };
}

function open(mode: 'server' | 'client') {
  return createSyncMetrics({
    mode,
    databases: () => [measured(mode)],
    fanOut: () => ({ messages: 7, bytes: 900, drops: { stalled: 2 }, queued: 6 }),
    snapshots: () => ({ built: 1, failed: 2, shared: 3, running: 1, bytes: 4, oldestBuildMs: 5000 }),
    hubIsUp: () => false,
    waitingTasks: () => 5,
    freeBytes: async () => ({ state: 42 })
  });
}

const AT = 'db_type="indexer",chain="bitcoin",network="regtest"';

test('a server tells what it sent and to whom; a client how its replicas stand', async () => {
  const server = await open('server').render();
  for (const line of [
    `sync_circuit_open{${AT}} 1`,
    `sync_subscribers{${AT}} 2`,
    `sync_subscriber_lag_blocks{${AT}} 4`,
    `sync_subscriber_buffered_bytes{${AT}} 300`,
    `sync_stream_behind{${AT}} 1`,
    `sync_stream_standby{${AT}} 0`,
    `sync_stream_waiting_messages{${AT}} 8`,
    `sync_actor_restarts_left{${AT}} 7`,
    `sync_actor_oldest_message_seconds{${AT}} 1.5`,
    'sync_fanout_bytes_total 900',
    'sync_subscriber_drops_total{reason="stalled"} 2',
    'sync_snapshot_oldest_build_seconds 5',
    'sync_hub_up 0',
    'sync_disk_free_bytes{of="state"} 42',
    'sync_fanout_queue_messages 6',
    'sync_task_queue_length 5'
  ])
    assert.ok(server.split('\n').includes(line), `${line}\n${server}`);
  const client = await open('client').render();
  for (const line of [
    `sync_replica_halted{${AT}} 1`,
    `sync_replica_progress_ratio{${AT}} 0.5`,
    `sync_replica_verified_blocks{${AT}} 6`,
    `sync_replica_dissents{${AT}} 3`,
    `sync_replica_index_map_mismatches{${AT}} 4`,
    `sync_replica_sources_failed{${AT}} 1`
  ])
    assert.ok(client.split('\n').includes(line), `${line}\n${client}`);
  assert.doesNotMatch(client, /sync_subscribers\{/);
});

test('events of actors are counted', async () => {
  const metrics = open('server');
  const entry = { seq: 1, actor: INDEXER, at: 0 } as const;
  metrics.note({ ...entry, kind: 'death', generation: 1, cause: 'hung', reason: 'x' });
  metrics.note({ ...entry, kind: 'blocks', direction: 'out', first: 5, last: 7 });
  metrics.note({ ...entry, kind: 'transition', machine: 'source', event: 'e', from: 'a', to: 'b' });
  metrics.note({ ...entry, kind: 'message', ms: 20, direction: 'in', type: 't', error: 'ACTOR_TIMEOUT' });
  const text = await metrics.render();
  assert.ok(text.includes(`sync_actor_restarts_total{${AT},cause="hung"} 1`), text);
  assert.ok(text.includes(`sync_blocks_total{${AT},direction="out"} 3`), text);
  assert.ok(text.includes(`sync_machine_transitions_total{${AT},machine="source"} 1`), text);
  assert.ok(text.includes(`sync_actor_ask_failures_total{${AT},code="ACTOR_TIMEOUT"} 1`), text);
});

test('counts of threads are added up, by database', async () => {
  const client = open('client');
  const work = [{ name: 'blocks.apply', from: 1_000, to: 1_300 }];
  client.add(INDEXER, {
    counts: { 'rows.in': 5, 'bytes.in': 70, gcMs: 20, 'digest.equal': 1 },
    queryMs: [3, 30],
    work
  });
  client.add(INDEXER, { counts: { 'rows.in': 2, 'digest.repaired': 2 }, queryMs: [], work: [] });
  const lines = (await client.render()).split('\n');
  for (const line of [
    `sync_rows_total{${AT},direction="in"} 7`,
    `sync_replica_received_bytes_total{${AT}} 70`,
    `sync_actor_gc_seconds_total{${AT}} 0.02`,
    `sync_query_seconds_count{${AT}} 2`,
    `sync_replica_digests_total{${AT},outcome="equal"} 1`,
    `sync_replica_digests_total{${AT},outcome="repaired"} 2`,
    `sync_replica_group_seconds_bucket{le="0.5",${AT}} 1`
  ])
    assert.ok(lines.includes(line), `${line}\n${lines.filter((each) => each.startsWith('sync_')).join('\n')}`);
});

test('200 with the key, 401 without; answers are counted by route and never by path', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  assert.equal((await app.inject('/metrics')).statusCode, 401);
  const headers = { authorization: 'Bearer k1' };
  await app.inject({ url: '/status/indexer/bitcoin/regtest', headers });
  await app.inject({ url: '/made/up/by/a/caller', headers });
  const { body, headers: answered } = await app.inject({ url: '/metrics', headers });
  assert.match(String(answered['content-type']), /^text\/plain/);
  assert.match(
    body,
    /sync_http_request_seconds_count\{route="\/status\/:dbType\/:chain\/:network",method="GET",status="200"\} 1/
  );
  assert.match(body, /sync_refusals_total\{code="UNAUTHORIZED"\} 1/);
  assert.doesNotMatch(body, /made|caller/);
});

/** Names of series in a query: what is followed by a selector, a range, an operator or nothing, and is no function. */
const namesIn = (query: string): string[] =>
  query.match(/\b(?:sync|decoder|indexer|hub|encoder|miner|platform|nodejs|process)_[a-z0-9_]+/g) ?? [];

const STANDING = {
  phase: 'leading',
  view: 2,
  seq: 7,
  peers: ['a'],
  accused: 1,
  waiting: 5,
  round: { counted: 3, missed: 1, deviation: 0.02 } as {
    counted: number;
    missed: number;
    deviation: number | null;
  } | null
};

interface Panel {
  readonly targets?: { readonly expr: string }[];
  readonly panels?: readonly Panel[];
}

test('every metric of ours is on the dashboard, and dashboard and alerts ask for metrics that exist', async () => {
  const withActors = ['decoder', 'indexer'];
  const others = [...withActors, 'hub', 'encoder', 'miner'].map((service) =>
    createMetrics({
      service,
      actors: () => [],
      describe: (registry) => {
        if (service === 'encoder' || service === 'miner')
          describeNode(registry, service, { silentMs: 0, answerAgeS: 0 });
        if (service === 'hub') {
          describeOracle(registry, { configured: 1, intervalMs: 1, pricing: () => undefined });
          describeHubSet(registry, { members: 4, needed: 2, standing: () => STANDING });
        }
        return () => undefined;
      }
    })
  );
  others[0]!.tellBuild('1.2.3');
  const texts = await Promise.all([open('server'), open('client'), ...others].map((metrics) => metrics.render()));
  const typed = [...texts.join('\n').matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const known = new Set(
    typed.flatMap(([, name = '', type]) =>
      type === 'histogram' || type === 'summary' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name]
    )
  );
  const { panels } = JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8')) as { panels: Panel[] };
  const all = panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  const shown = new Set(all.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => namesIn(expr))));
  const alerted = [...ALERTS.matchAll(/^ {8}expr: (.+)$/gm)].flatMap(([, query = '']) => namesIn(query));
  assert.ok(alerted.includes('hub_readiness'), 'the other services have alerts too');
  for (const name of [...shown, ...alerted]) assert.ok(known.has(name), `no metric ${name}`);
  // Where there is no actor, what tells of actors has no line.
  const everywhere = /^(?:hub|encoder|miner)_(?:readiness|http_request_seconds|refusals_total)$/;
  const own = typed
    .map(([, name = '']) => name)
    .filter((name) => /^(?:sync|decoder|indexer|hub_(?:oracle|consensus|round))_/.test(name) || everywhere.test(name));
  for (const name of own)
    assert.ok(
      [...shown].some((each) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`].includes(each)),
      `${name} is on no dashboard`
    );
  assert.equal([...ALERTS.matchAll(/- alert: /g)].length, 21);
});

test('a hub tells of its prices how many sources are missing, how far they differ, and how many rounds are missed', async () => {
  const now = performance.timeOrigin + performance.now();
  const pricing = { answered: 1, deviation: 6.5, keptAt: now - 3_500 };
  const metrics = createMetrics({
    service: 'hub',
    actors: () => [],
    describe: (registry) => {
      describeOracle(registry, { configured: 3, intervalMs: 1_000, pricing: () => pricing });
      return () => undefined;
    }
  });
  const gauges = [...(await metrics.render()).matchAll(/^hub_oracle_(\w+) (\S+)$/gm)].map(([, name, value]) => [
    name,
    value
  ]);
  assert.deepEqual(Object.fromEntries(gauges), { sources_missing: '2', deviation_percent: '6.5', rounds_missed: '3' });
});

test('a hub of a set tells how many are missing, for a decision too, what waits and how long, and how many told prices', async () => {
  const render = async (members: number, needed: number, standing: Partial<typeof STANDING>) => {
    const metrics = createMetrics({
      service: 'hub',
      actors: () => [],
      describe: (registry) => {
        describeHubSet(registry, { members, needed, standing: () => ({ ...STANDING, ...standing }) })(0.3);
        return () => undefined;
      }
    });
    const metric = /^hub_(consensus_\w+|round_\w+|peers|equivocations_total|price_deviation) (\S+)$/gm;
    const gauges = (await metrics.render()).matchAll(metric);
    return Object.fromEntries([...gauges].map(([, name, value]) => [name, Number(value)]));
  };
  const four = {
    consensus_seq: 7,
    consensus_view: 2,
    consensus_halted: 0,
    consensus_pending: 5,
    consensus_commit_seconds_count: 1,
    consensus_commit_seconds_sum: 0.3,
    peers: 1,
    equivocations_total: 1
  };
  const prices = { round_submissions: 3, round_missed: 1, price_deviation: 0.02 };
  const two = { consensus_missing: 2, consensus_lacking: 1 };
  assert.deepEqual(await render(4, 2, {}), { ...four, ...two, ...prices });
  const alone = { phase: 'halted', peers: [], round: null };
  const none = { peers: 0, consensus_missing: 0, round_submissions: 0, round_missed: 0, price_deviation: 0 };
  assert.deepEqual(await render(40, 16, alone), { ...four, ...none, consensus_halted: 1, consensus_lacking: 16 });
});

test('a service tells the word that /readyz says', async () => {
  const metrics = createMetrics({ service: 'miner', actors: () => [] });
  let now = 'ready';
  metrics.tellReadiness(['unavailable', 'ready'], async () => now);
  assert.match(
    await metrics.render(),
    /^miner_readiness\{state="unavailable"\} 0\nminer_readiness\{state="ready"\} 1$/m
  );
  now = 'unavailable';
  assert.match(
    await metrics.render(),
    /^miner_readiness\{state="unavailable"\} 1\nminer_readiness\{state="ready"\} 0$/m
  );
});

test('each query of the dashboard is for the instances that its variable names', () => {
  const { panels } = JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8')) as { panels: Panel[] };
  const queries = panels
    .flatMap((panel) => [panel, ...(panel.panels ?? [])])
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  assert.ok(queries.length > 100);
  for (const query of queries) {
    const chosen = query.match(/\binstance=~"\$instance"/g) ?? [];
    assert.equal(chosen.length, query.match(/\b(?!le\b)[a-z]+_[a-z0-9_]+(?=\{)/g)?.length, query);
    assert.ok(chosen.length > 0, query);
  }
});

test('a service tells its version and that of Node', async () => {
  const metrics = createMetrics({ service: 'miner', actors: () => [] });
  metrics.tellBuild('1.2.3');
  const text = await metrics.render();
  assert.ok(text.includes(`platform_build_info{service="miner",version="1.2.3",node="${process.versions.node}"} 1`));
});

test('ops/dashboard.json is as it is generated; if not: npm run dashboard', () => {
  assert.equal(readFileSync(DASHBOARD_FILE, 'utf8'), renderDashboard());
});

test('the delay of the main thread is told without the pause between two looks at it', async () => {
  const metrics = createMetrics({ service: 'sync', actors: () => [] });
  const delayOf = async (statistic: string) => {
    const text = await metrics.render();
    return Number(new RegExp(`^nodejs_eventloop_lag_${statistic}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
  };
  assert.equal(await delayOf('p99'), 0, 'nothing was seen yet');
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const idle = await delayOf('p50');
  assert.ok(idle < 0.05, `${idle} s`);
  await new Promise((resolve) => setTimeout(resolve, 700));
  for (const end = performance.now() + 900; performance.now() < end; );
  await new Promise((resolve) => setTimeout(resolve, 600));
  const busy = await delayOf('max');
  assert.ok(busy > 0.3 && busy < 2, `${busy} s`);
});
