import { databaseKey } from '../../wire/data/database.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import { type Condition, conditionOf } from '../../wire/state/condition.ts';
import {
  arrowOf,
  boundReason,
  boxOf,
  NEAR_BLOCKS,
  type Pipeline,
  type PipelineEdge,
  type PipelineNode,
  type PipelineState
} from '../../wire/state/pipeline.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { SubscriberView } from '../fan-out/subscriber.ts';

/** A sync service's knowledge of one database. */
export interface SyncLane extends Pick<ActorView, 'id' | 'state' | 'reason' | 'machines' | 'waiting'> {
  readonly report: DatabaseReport | null;
  /** Slowest first; empty in client mode. */
  readonly subscribers: readonly SubscriberView[];
  readonly subscriber_count: number;
}

type Source = NonNullable<DatabaseReport['replica']>['sources'][number];

const SOURCE_STATES: Readonly<Record<string, PipelineState>> = {
  followed: 'well',
  heard: 'well',
  failed: 'failed',
  unserved: 'failed',
  waiting: 'waiting'
};

/** The hub, as a sync service sees it. */
interface HubLook {
  readonly isKnown: boolean;
  readonly isUp: boolean | null;
}

/**
 * Returns the way of blocks as a sync service knows it: a server's databases, actors and subscribers; a client's
 * sources and replicas; an edge's streams and subscribers.
 *
 * @param hub whether it has named any database yet, and whether it answered when it was asked last
 */
export function syncPipeline(mode: 'server' | 'client' | 'edge', lanes: readonly SyncLane[], hub: HubLook): Pipeline {
  const parts = lanes.map(LANES[mode]);
  return {
    nodes: [...(mode === 'edge' ? [] : [hubBox(hub, lanes.length)]), ...parts.flatMap(({ nodes }) => nodes)],
    edges: parts.flatMap(({ edges }) => edges)
  };
}

function hubBox({ isKnown, isUp }: HubLook, count: number): PipelineNode {
  const box = boxOf(null, 'hub', 'hub');
  const remedy = 'check HUB_API_HOST, HUB_PORT and that it runs';
  if (!isKnown) {
    const reason = `the hub did not name any database yet: ${remedy}`;
    return { ...box, state: 'waiting', doing: 'has not answered', reason };
  }
  if (isUp === false) {
    const reason = `what is known goes on, new databases are not seen: ${remedy}`;
    return { ...box, state: 'failed', doing: 'does not answer', reason };
  }
  return { ...box, state: 'well', doing: count === 1 ? 'names 1 database' : `names ${count} databases` };
}

/** Returns the lane database → sync server → subscribers. */
function serverLane(lane: SyncLane): Pipeline {
  const { report } = lane;
  const key = databaseKey(lane.id);
  const server = actorBox(lane, 'sync server', 'source');
  const database: PipelineNode = {
    ...boxOf(key, 'database', report?.dbName ?? 'database'),
    ...databaseCondition(report),
    height: report?.tip ?? null
  };
  return servingLane(database, server, lane);
}

/** Returns the lane stream → edge → subscribers; the tip is that of its origin. */
function edgeLane(lane: SyncLane): Pipeline {
  const key = databaseKey(lane.id);
  const { report, waiting } = lane;
  const edge = actorBox(lane, 'edge', 'edge');
  const isRead = report !== null && !waiting?.on;
  const stream: PipelineNode = {
    ...boxOf(key, 'stream', 'stream in NATS'),
    state: isRead ? 'well' : 'waiting',
    doing: isRead ? 'is read' : 'is not passed on',
    height: report?.tip ?? null,
    reason: isRead ? null : boundReason(waiting?.on)
  };
  return servingLane(stream, edge, lane);
}

/** Returns the lane origin of blocks → the part that serves them → subscribers. */
function servingLane(from: PipelineNode, server: PipelineNode, lane: SyncLane): Pipeline {
  const { subscribers, subscriber_count: readers } = lane;
  const key = databaseKey(lane.id);
  const stalled = subscribers.filter(({ state }) => state === 'stalled').length;
  const lags = subscribers.map(({ lag }) => lag).filter((lag) => lag !== null);
  const slowest = lags.reduce<number | null>((most, lag) => Math.max(most ?? lag, lag), null);
  const takenState: PipelineState = stalled > 0 ? 'waiting' : (slowest ?? 0) > NEAR_BLOCKS ? 'working' : 'well';
  const taker: PipelineNode = {
    ...boxOf(key, 'subscribers', readers === 1 ? '1 subscriber' : `${readers} subscribers`),
    state: readers === 0 ? 'unknown' : takenState,
    doing: readingOf(readers, stalled, slowest ?? 0),
    height: slowest === null || server.height === null ? null : server.height - slowest,
    reason: stalled > 0 ? 'a subscriber that reads nothing for too long is dropped' : null,
    count: readers
  };
  return {
    nodes: [from, server, taker],
    edges: [
      { ...arrowOf(from, server, server, server.height), ...(lane.state === 'running' ? {} : { lag: null }) },
      { ...arrowOf(server, taker, taker, server.height), lag: slowest }
    ]
  };
}

function readingOf(readers: number, stalled: number, slowest: number): string {
  if (readers === 0) return 'none is connected';
  if (stalled > 0) return `${stalled} of ${readers} read nothing`;
  if (slowest > NEAR_BLOCKS) return `the slowest is ${slowest} blocks behind`;
  return readers === 1 ? 'keeps up' : 'keep up';
}

/** Returns the lane sources → replica; one source is followed, the others are heard for the hashes of their blocks. */
function clientLane(lane: SyncLane): Pipeline {
  const key = databaseKey(lane.id);
  const replica = { ...actorBox(lane, 'replica', 'replica'), percent: lane.report?.replica?.percent ?? null };
  const found = lane.report?.replica?.sources ?? [];
  const isUp = lane.state === 'running';
  const sources = found.map((source) => ({ source, node: sourceBox(key, source, isUp) }));
  const arrows = sources.map(({ source, node }): PipelineEdge => {
    const followed = arrowOf(node, replica, replica, replica.height);
    if (source.state === 'followed') return isUp ? followed : { ...followed, lag: null };
    const isHeard = source.state === 'heard';
    return { ...arrowOf(node, replica, node, null), lag: null, carries: isHeard ? 'hashes only' : 'nothing' };
  });
  return { nodes: [...sources.map(({ node }) => node), replica], edges: arrows };
}

const LANES = { server: serverLane, client: clientLane, edge: edgeLane } as const;

function sourceBox(key: string, { url, state, height, error }: Source, isUp: boolean): PipelineNode {
  const name = URL.parse(url)?.host ?? url;
  const box = { ...boxOf(key, 'source', name), id: `${key} source ${url}`, height };
  if (!isUp) return { ...box, doing: 'not heard' };
  const condition = SOURCE_STATES[state] ?? 'unknown';
  return {
    ...box,
    state: condition,
    doing: state,
    reason: condition === 'well' ? null : boundReason(error)
  };
}

function actorBox(lane: SyncLane, role: string, machine: string): PipelineNode {
  const { report, machines } = lane;
  return {
    ...boxOf(databaseKey(lane.id), role, role === 'replica' ? (report?.dbName ?? role) : role),
    ...conditionOf(lane),
    since: machines[machine]?.since ?? null,
    height: report?.height ?? null
  };
}

function databaseCondition(report: DatabaseReport | null): Condition {
  if (!report) return { state: 'unknown', doing: 'not read yet', reason: null };
  if (report.circuit === 'closed') return { state: 'well', doing: 'answers', reason: null };
  const reason = boundReason(report.lastError) ?? 'it failed several times; the breaker tries it again';
  return { state: report.circuit === 'open' ? 'failed' : 'waiting', doing: 'does not answer', reason };
}
