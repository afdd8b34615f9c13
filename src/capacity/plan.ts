import { LIMITS, MEASURED, NATS_HEAD_BYTES, sendSeconds, USABLE } from './constants.ts';

/** Load that an installation has to bear. */
export interface Demand {
  readonly subscribers: number;
  /** Bytes of a block's message. */
  readonly blockBytes: number;
  /** Seconds between two blocks. */
  readonly blockSeconds: number;
  /** Edges, each one process on a core of its own; absent: as few as will do. */
  readonly edges?: number | undefined;
  /** Network of each edge and of NATS, in Mbit/s. */
  readonly mbit: number;
  /** Bytes of a full snapshot, compressed. */
  readonly snapshotBytes: number;
  /** Subscribers that begin anew each day, with a snapshot. */
  readonly snapshotsPerDay: number;
  /** Seconds within which all subscribers connect again, after the loss of all connections. */
  readonly reconnectSeconds: number;
}

/** One resource of an edge or of NATS, and how much of it is used: above 1 it does not suffice. */
export interface Use {
  readonly what: string;
  readonly used: number;
}

/** Needs of an installation. */
export interface Capacity {
  readonly edges: number;
  readonly subscribersPerEdge: number;
  /** Cores that the edges use on average. */
  readonly cores: number;
  readonly memoryBytesPerEdge: number;
  /** Seconds from the first to the last subscriber of an edge, for one block. */
  readonly blockSeconds: number;
  /** Bytes a second of all edges together, on average. */
  readonly egressBytes: number;
  /** Bytes a second that NATS sends to the edges, on average. */
  readonly natsBytes: number;
  /** Bytes a second of snapshots, on average over a day. */
  readonly snapshotBytes: number;
  /** Seconds of a core of each edge while everybody connects again, and bytes a second that it sends meanwhile. */
  readonly reconnectCpuSeconds: number;
  readonly reconnectBytes: number;
  /** Most used first: the first is the bottleneck. */
  readonly uses: readonly Use[];
}

const MOST_EDGES = 1_000_000;

/** Computes what a demand needs. */
export function planCapacity(demand: Demand): Capacity {
  if (demand.edges !== undefined) return withEdges(demand, demand.edges);
  let [low, high] = [1, 1];
  while (high < MOST_EDGES && !suffices(withEdges(demand, high))) [low, high] = [high, 2 * high];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (suffices(withEdges(demand, middle))) high = middle;
    else low = middle + 1;
  }
  return withEdges(demand, low);
}

/** Returns whether the capacity suffices. NATS does not count: more edges do not help it. */
function suffices({ uses }: Capacity): boolean {
  return uses.every(({ what, used }) => used <= 1 || what.startsWith('NATS'));
}

function withEdges(demand: Demand, edges: number): Capacity {
  const { subscribers, blockBytes, blockSeconds, mbit, reconnectSeconds } = demand;
  const cardBytes = (mbit * 1e6) / 8;
  const each = Math.ceil(subscribers / edges);
  const cpuOfBlock = each * sendSeconds(blockBytes);
  const bytesOfBlock = each * blockBytes;
  const ofSnapshots = (demand.snapshotBytes * demand.snapshotsPerDay) / 86_400;
  const natsBytes = (edges * (blockBytes + NATS_HEAD_BYTES)) / blockSeconds;
  const missed = Math.ceil(reconnectSeconds / blockSeconds);
  const reconnectCpuSeconds = each * (MEASURED.connectUs / 1e6 + missed * sendSeconds(blockBytes));
  const reconnectBytes = (missed * bytesOfBlock) / reconnectSeconds;
  const egressOfEdge = bytesOfBlock / blockSeconds + ofSnapshots / edges;
  const uses: Use[] = [
    { what: 'connections of an edge', used: each / LIMITS.connections },
    { what: 'CPU of an edge', used: cpuOfBlock / blockSeconds / USABLE },
    { what: 'network of an edge', used: egressOfEdge / cardBytes / USABLE },
    {
      what: 'one second for a block to reach all subscribers of an edge',
      used: Math.max(cpuOfBlock, bytesOfBlock / cardBytes)
    },
    { what: 'CPU of an edge while everybody reconnects', used: reconnectCpuSeconds / reconnectSeconds },
    { what: 'network of an edge while everybody reconnects', used: reconnectBytes / cardBytes },
    { what: 'NATS: network of one server', used: natsBytes / cardBytes / USABLE }
  ];
  return {
    edges,
    subscribersPerEdge: each,
    cores: (edges * cpuOfBlock) / blockSeconds,
    memoryBytesPerEdge: MEASURED.edgeBytes + windowBytes(blockBytes) + each * MEASURED.subscriberBytes,
    blockSeconds: Math.max(cpuOfBlock, bytesOfBlock / cardBytes),
    egressBytes: (subscribers * blockBytes) / blockSeconds,
    natsBytes,
    snapshotBytes: ofSnapshots,
    reconnectCpuSeconds,
    reconnectBytes,
    uses: uses.sort((a, b) => b.used - a.used)
  };
}

function windowBytes(blockBytes: number): number {
  return Math.min(LIMITS.windowMessages * blockBytes, LIMITS.windowBytes);
}
