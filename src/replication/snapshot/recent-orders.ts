import { LRUCache } from 'lru-cache';
import type { SnapshotOrder } from '../../wire/data/snapshot.ts';

/** A snapshot requested this much later contains a block that the source has and did not broadcast yet. */
const MAX_AGE_MS = 25;
const MAX_ORDERS = 100;

interface Asked {
  readonly order: Promise<SnapshotOrder>;
  /** Revision of the source's broadcasts when it was asked. */
  readonly revision: number;
}

/**
 * The recent answers of sources about requested snapshots: many simultaneous callers cause one question.
 *
 * An answer from before a source's last broadcast is not used: a caller that knows a block gets a snapshot with it.
 */
export class RecentOrders {
  readonly #asked = new LRUCache<string, Asked>({ max: MAX_ORDERS, ttl: MAX_AGE_MS });

  /** @param resource database and query  @param revision another number after each broadcast of the source */
  find(resource: string, revision: number, ask: () => Promise<SnapshotOrder>): Promise<SnapshotOrder> {
    const known = this.#asked.get(resource);
    if (known && known.revision === revision) return known.order;
    const asked = { order: ask(), revision };
    this.#asked.set(resource, asked);
    asked.order.catch(() => this.#asked.get(resource) === asked && this.#asked.delete(resource));
    return asked.order;
  }
}
