import type { PlatformView } from '../src/service/platform/platform-view.ts';
import type { SubscriberView } from '../src/sync/fan-out/subscriber.ts';
import type { ActorView } from '../src/wire/state/actor-view.ts';
import type { Pipeline } from '../src/wire/state/pipeline.ts';
import type { ActorReport, DatabaseReport } from '../src/wire/state/report.ts';
import type { TimelineEntry } from '../src/wire/state/timeline.ts';

/** One database as `GET /debug/live` tells it; what sync alone knows is missing in other services. */
export interface LiveDatabase extends Omit<ActorView, 'transitions'> {
  /** `indexer/bitcoin/mainnet` */
  readonly key: string;
  /** Names of the charts of its kind of actor, in this order. */
  readonly charts: readonly string[];
  readonly report: (ActorReport & Partial<DatabaseReport>) | null;
  /** The slowest of them. */
  readonly subscribers?: readonly SubscriberView[];
  readonly subscriber_count?: number;
}

/** An answer of `GET /debug/live`. */
export interface Live {
  readonly now: number;
  readonly version: string;
  /** `sync`, `hub`, `decoder`. */
  readonly service: string;
  /** Null where the service has no modes. */
  readonly mode: 'server' | 'client' | null;
  /** The answer of `GET /readyz`. */
  readonly readiness: string;
  /** The key is an operator's, so buttons are shown. */
  readonly operated: boolean;
  readonly seq: number;
  readonly databases: readonly LiveDatabase[];
  readonly pipeline: Pipeline;
  /** This service with the others of the platform; null where it asks none. */
  readonly platform: PlatformView | null;
  readonly entries: readonly TimelineEntry[];
}

/** Height of a database at one time. */
export interface Sample {
  readonly at: number;
  readonly height: number;
}

/** Height and lag of a database at an earlier time; null where they were not known. */
export interface Past {
  readonly at: number;
  readonly height: number | null;
  readonly lag: number | null;
}

const KEY = 'platform-node key';
const MAX_ENTRIES = 5_000;
const MAX_SAMPLES = 600;
const TIMEOUT_MS = 10_000;
const PAST_EVERY_MS = 300_000;

/** The service asks for its key. */
export class KeyNeeded extends Error {}

/** More than any entry's number. */
const NO_ENTRIES = 999_999_999_999;

/** The page's knowledge of the service: the last look, and what is kept of earlier ones. */
export class LiveState {
  last: Live | null = null;
  /** Time at which this browser got it, by its own clock. */
  seenAt = 0;
  /** Oldest first, bounded like the service's own ring. */
  entries: TimelineEntry[] = [];
  readonly samples = new Map<string, Sample[]>();
  /** The last 24 hours of each database, as far as the process ran. */
  past: ReadonlyMap<string, readonly Past[]> = new Map();
  #pastAt = Number.NEGATIVE_INFINITY;
  #seq = 0;

  database(key: string): LiveDatabase | undefined {
    return this.last?.databases.find((database) => database.key === key);
  }

  /**
   * @param withEntries false: what happened is fetched when a later look wants it
   * @throws {KeyNeeded | Error}
   */
  async look(withEntries: boolean): Promise<void> {
    const live = (await ask(`/debug/live?after=${withEntries ? this.#seq : NO_ENTRIES}`)) as Live;
    // A service that was started again counts from 1 again.
    if (live.seq < this.#seq) {
      this.entries = [];
      this.#seq = 0;
      return this.look(withEntries);
    }
    if (withEntries) {
      this.#seq = live.seq;
      this.entries = [...this.entries, ...live.entries].slice(-MAX_ENTRIES);
    }
    if (performance.now() - this.#pastAt > PAST_EVERY_MS) await this.#lookBack();
    this.last = live;
    this.seenAt = Date.now();
    for (const { key, report } of live.databases) this.#sample(key, live.now, report?.height ?? null);
  }

  async #lookBack(): Promise<void> {
    this.#pastAt = performance.now();
    const { databases } = (await ask('/debug/history')) as {
      databases: Readonly<Record<string, readonly (readonly [number, number | null, number | null])[]>>;
    };
    this.past = new Map(
      Object.entries(databases).map(([key, rows]) => [key, rows.map(([at, height, lag]) => ({ at, height, lag }))])
    );
  }

  /** Returns blocks a minute over the last minute that was watched; null before there is a time to speak of. */
  rate(key: string): number | null {
    const samples = this.samples.get(key) ?? [];
    const newest = samples.at(-1);
    const oldest = newest && samples.find(({ at }) => at >= newest.at - 60_000);
    if (!newest || !oldest || newest.at - oldest.at < 2_000) return null;
    return ((newest.height - oldest.height) / (newest.at - oldest.at)) * 60_000;
  }

  #sample(key: string, at: number, height: number | null): void {
    if (height === null) return;
    const samples = this.samples.get(key) ?? [];
    samples.push({ at, height });
    if (samples.length > MAX_SAMPLES) samples.shift();
    this.samples.set(key, samples);
  }
}

/** Returns whether a key was given. */
export const hasKey = (): boolean => sessionStorage.getItem(KEY) !== null;

export function setKey(key: string): void {
  sessionStorage.setItem(KEY, key);
}

/** Returns the body of an answer. @throws {KeyNeeded | Error} */
export async function ask(path: string, method: 'GET' | 'POST' = 'GET'): Promise<unknown> {
  const response = await request(path, method);
  const body = (await response.json()) as { error?: string };
  if (!response.ok) throw new Error(body.error ?? `${response.status}`);
  return body;
}

/** Returns the result of a JSON-RPC method of the service. @throws {KeyNeeded | Error} */
export async function callMethod(method: string, params: object): Promise<unknown> {
  const response = await request('/', 'POST', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const { result, error } = (await response.json()) as { result?: unknown; error?: { readonly message?: string } };
  if (error) throw new Error(error.message ?? `${response.status}`);
  return result;
}

/** Asks for an answer with the key. @throws {KeyNeeded | Error} */
export async function request(path: string, method: 'GET' | 'POST' = 'GET', json?: string): Promise<Response> {
  const key = sessionStorage.getItem(KEY);
  const response = await fetch(path, {
    method,
    headers: {
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(json === undefined ? {} : { 'content-type': 'application/json' })
    },
    ...(json === undefined ? {} : { body: json }),
    signal: AbortSignal.timeout(TIMEOUT_MS)
  });
  if (response.status === 401) throw new KeyNeeded();
  return response;
}
