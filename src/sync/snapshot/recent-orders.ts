import { LRUCache } from 'lru-cache';
import type { SnapshotOrder } from '../../wire/snapshot.ts';

/** A block that the source has and did not broadcast yet is in the snapshots of those who ask so much later. */
const MAX_AGE_MS = 25;
const MAX_ORDERS = 100;

interface Asked {
  readonly order: Promise<SnapshotOrder>;
  /** The source's last broadcast when it was asked. */
  readonly point: unknown;
}

/**
 * What sources said a moment ago of the snapshots that they were asked for: many who ask at once are one question.
 *
 * Nothing from before a source's last broadcast is used: who has heard of a block gets a snapshot that holds it.
 */
export class RecentOrders {
  readonly #asked = new LRUCache<string, Asked>({ max: MAX_ORDERS, ttl: MAX_AGE_MS });

  /** @param resource database and query  @param point of the source's last broadcast, the same object until the next one */
  find(resource: string, point: unknown, ask: () => Promise<SnapshotOrder>): Promise<SnapshotOrder> {
    const known = this.#asked.get(resource);
    if (known && known.point === point) return known.order;
    const asked = { order: ask(), point };
    this.#asked.set(resource, asked);
    asked.order.catch(() => this.#asked.get(resource) === asked && this.#asked.delete(resource));
    return asked.order;
  }
}
