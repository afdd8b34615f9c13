import { PlatformError } from '../errors.ts';
import type { ActorDirectory } from '../sync/app.ts';
import { type DatabaseId, sameBlock } from '../wire/data/database.ts';
import type { Catalog } from '../wire/log/catalog.ts';
import type { ActorView } from '../wire/state/actor-view.ts';
import type { DatabaseReport } from '../wire/state/report.ts';
import type { EdgeFeeds } from './feeds.ts';
import type { ValuesReader } from './values.ts';

/** The databases of an edge as its front door sees them: each is as far as its stream was passed on. */
export class EdgeDirectory implements ActorDirectory {
  readonly #feeds: EdgeFeeds;
  readonly #values: ValuesReader;

  constructor(feeds: EdgeFeeds, values: ValuesReader) {
    this.#feeds = feeds;
    this.#values = values;
  }

  get discovered(): boolean {
    return this.#feeds.hasListed;
  }

  list(): readonly DatabaseId[] {
    return this.#feeds.ids;
  }

  /** Refuses: an edge has no actor to ask about a database. */
  lookup(): ReturnType<ActorDirectory['lookup']> {
    return { ask: () => Promise.reject(new PlatformError('ACTOR_NOT_READY', { reason: 'an edge has no database' })) };
  }

  isUp(id: DatabaseId): boolean {
    return this.waitsFor(id) === null;
  }

  waitsFor(id: DatabaseId): string | null {
    const reason = this.#feeds.of(id)?.reason ?? null;
    const silentS = this.#values.silentS(id);
    if (reason !== null || silentS === 0) return reason;
    return `the origin has written nothing into NATS for ${silentS} s: newer blocks may be there; see to it at the origin`;
  }

  lastReport(id: DatabaseId): DatabaseReport | undefined {
    const feed = this.#feeds.of(id);
    const position = feed?.position;
    if (!feed || !position) return undefined;
    const origin = this.#values.of(id);
    const { height, blockTime, hashes, schema } = position;
    // Before the stream has said it, the origin's word counts where it is about the same block.
    const known = origin?.height === height && sameBlock(origin.hashes, hashes) ? origin : undefined;
    const tip = Math.max(height, origin?.height ?? height);
    const waitsFor = this.waitsFor(id);
    return {
      id,
      dbName: '',
      mode: 'server',
      phase: waitsFor === null ? 'live' : 'reconnecting',
      circuit: 'closed',
      pollErrorCount: 0,
      databaseSilentS: Math.max(feed.stoppedS(), this.#values.silentS(id), origin?.databaseSilentS ?? 0),
      height,
      blockTime,
      hashes,
      tip,
      lagBlocks: tip - height,
      schemaFingerprint: schema,
      lastError: waitsFor,
      settledHeight: position.settledHeight ?? known?.settledHeight ?? null,
      amendments: position.amendments ?? known?.amendments ?? null
    };
  }

  /** Returns the origin's entries of the databases that are served here. */
  async catalog(): Promise<Catalog> {
    const databases = this.list().flatMap((id) => this.#values.of(id)?.catalog ?? []);
    return { generated_at: new Date().toISOString(), databases };
  }

  /** Returns the databases as the console lists them. */
  views(): readonly ActorView[] {
    const restarts = { inWindow: 0, budget: 0, total: 0, causes: [] };
    return this.list().map((id) => ({
      id,
      kind: 'edge',
      state: 'running',
      reason: null,
      generation: 1,
      machines: {},
      beacon: null,
      restarts,
      transitions: [],
      waiting: { on: this.waitsFor(id), since: 0 }
    }));
  }
}
