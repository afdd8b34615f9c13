import { LIMITS, MEASURED, sendSeconds } from './constants.ts';
import type { Demand } from './plan.ts';

/** A loss of edges, and how clients and edges behave then. */
interface StormCase extends Pick<Demand, 'subscribers' | 'blockBytes' | 'blockSeconds' | 'mbit'> {
  readonly edges: number;
  /** Edges that are lost at once. */
  readonly lost: number;
  /** Time until no more clients are sent to lost edges, in milliseconds. */
  readonly balancerMs: number;
  /** Clients spread their attempts; else all of them connect at the same moments. */
  readonly jitter: boolean;
  /** Clients resume with `after`; else each asks the origin what it missed. */
  readonly resumes: boolean;
}

/** Course of a storm; times in milliseconds from the loss. */
export interface StormCourse {
  readonly lostSubscribers: number;
  readonly attempts: number;
  /** Most attempts that the edges that are left got in one second, together. */
  readonly peakPerSecond: number;
  /** Attempts that an edge refused: it had no room. */
  readonly refused: number;
  /** Attempts that a client gave up: it waited for too long. */
  readonly givenUp: number;
  /** Half of the subscribers, 99 of 100, and all are live again; null: not within `MOST_MS`. */
  readonly halfMs: number | null;
  readonly mostMs: number | null;
  readonly allMs: number | null;
}

const TICK_MS = 10;
/** The storm is not followed for longer. */
const MOST_MS = 1_800_000;
/** Requests to the origin of a client that does not resume: its status, and what followed its block. */
const ORIGIN_ANSWERS = 2;

/** A queue that is served in order: time at which it is empty. */
interface Queue {
  freeAt: number;
}

/** One edge that is left. */
interface Edge extends Queue {
  connections: number;
}

/**
 * Plays the loss of edges in virtual time: every client that lost its edge connects to one at random until it is live.
 *
 * An edge serves one connection after the other, by CPU or network, whichever takes longer, and each block goes to all its subscribers
 * first. It refuses connections beyond its limit. A client that waits for too long gives up and comes again.
 *
 * @param random numbers from 0 up to but not including 1
 */
export function playStorm(asked: StormCase, random: () => number): StormCourse {
  const { subscribers, edges, lost, blockBytes, blockSeconds, mbit, balancerMs, jitter, resumes } = asked;
  const sendMs = 1_000 * Math.max(sendSeconds(blockBytes), (8 * blockBytes) / (mbit * 1e6));
  const each = Math.round(subscribers / edges);
  const lostSubscribers = each * lost;
  const left: Edge[] = Array.from({ length: edges - lost }, () => ({ freeAt: 0, connections: each }));
  const origin: Queue = { freeAt: 0 };
  const delay = () => LIMITS.reconnectMs * (jitter ? 0.75 + random() / 2 : 1);
  const ticks: number[] = []; // attempts by tick
  const attemptAt = (ms: number) => {
    const tick = Math.ceil(ms / TICK_MS);
    ticks[tick] = (ticks[tick] ?? 0) + 1;
  };
  const liveAt: number[] = [];
  const perSecond: number[] = [];
  const counts = { attempts: 0, refused: 0, givenUp: 0 };
  for (let client = 0; client < lostSubscribers; client++) attemptAt(delay());
  let nextBlockMs = 1_000 * blockSeconds;

  for (let tick = 0; tick < ticks.length && tick * TICK_MS < MOST_MS; tick++) {
    const now = tick * TICK_MS;
    for (; nextBlockMs <= now; nextBlockMs += 1_000 * blockSeconds)
      for (const edge of left) edge.freeAt = Math.max(edge.freeAt, nextBlockMs) + edge.connections * sendMs;
    for (let attempt = ticks[tick] ?? 0; attempt > 0; attempt--) {
      counts.attempts += 1;
      const index = Math.floor(random() * (now < balancerMs ? edges : left.length));
      const edge = left[index];
      if (edge) perSecond[Math.floor(now / 1_000)] = (perSecond[Math.floor(now / 1_000)] ?? 0) + 1;
      if (!edge || edge.connections >= LIMITS.connections) {
        if (edge) counts.refused += 1;
        attemptAt(now + delay());
        continue;
      }
      const queues = resumes ? [edge] : [edge, origin];
      if (queues.some(({ freeAt }) => freeAt - now > LIMITS.patienceMs)) {
        counts.givenUp += 1;
        attemptAt(now + LIMITS.patienceMs + delay());
        continue;
      }
      const missedMs = Math.floor(now / (1_000 * blockSeconds)) * sendMs;
      const connected = serve(edge, now, MEASURED.connectUs / 1_000 + (resumes ? missedMs : 0));
      edge.connections += 1;
      liveAt.push(resumes ? connected : serve(origin, connected, ORIGIN_ANSWERS * MEASURED.answerMs + missedMs));
    }
  }
  liveAt.sort((a, b) => a - b);
  const share = (part: number) => liveAt[Math.ceil(lostSubscribers * part) - 1] ?? null;
  return {
    lostSubscribers,
    ...counts,
    peakPerSecond: perSecond.reduce((most, count) => Math.max(most, count ?? 0), 0),
    halfMs: share(0.5),
    mostMs: share(0.99),
    allMs: share(1)
  };
}

/** Adds work to a queue. @returns when it is done */
function serve(queue: Queue, now: number, workMs: number): number {
  queue.freeAt = Math.max(queue.freeAt, now) + workMs;
  return queue.freeAt;
}
