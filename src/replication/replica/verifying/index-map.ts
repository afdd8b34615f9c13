import type { Connection } from '../../../db/connection.ts';
import { SerialConnection } from '../../../db/serial-connection.ts';
import { IndexMap } from '../../tables/index-map.ts';
import type { Replica } from '../parts/replica.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'sources'>;

/** Pause between two comparisons. */
const PAUSE_MS = 60_000;
/** Pause while the source has not read its own index yet, or a difference is to be confirmed. */
const SOON_MS = 2_000;

/**
 * Compares the replica's index of addresses with the digest that its source gives, beside everything else: what differs twice in
 * a row is logged and counted, and never stops replication.
 *
 * @see the specification, "Configuration variables": INDEX_MAP_PARITY_CHECK
 */
export class ReplicaIndexMap {
  readonly #replica: Parts;
  readonly #open: () => Promise<Connection>;
  readonly #map = new IndexMap();
  readonly #stopping = new AbortController();
  #dueAt = 0;
  #differed = false;
  /** Number of comparisons that found a difference; null while nothing was compared. */
  mismatches: number | null = null;

  constructor(replica: Parts, open: () => Promise<Connection>) {
    this.#replica = replica;
    this.#open = open;
  }

  close(): void {
    this.#stopping.abort();
  }

  /** Begins a comparison when one is due; it is not waited for. */
  check(): void {
    if (!this.#replica.data.checksIndexMap || performance.now() < this.#dueAt) return;
    this.#dueAt = Number.POSITIVE_INFINITY;
    void this.#compare().then((nextMs) => {
      this.#dueAt = performance.now() + nextMs;
    });
  }

  async #compare(): Promise<number> {
    const { client: source } = this.#replica.sources;
    const { log } = this.#replica;
    const line = new SerialConnection(this.#open);
    try {
      const { indexMap: sourceMap } = await source.status(this.#stopping.signal);
      if (sourceMap === null) return SOON_MS;
      const own = await line.use((connection) => this.#map.read(connection, sourceMap.max_id));
      if (own === null || own.max_id !== sourceMap.max_id) return SOON_MS;
      this.mismatches ??= 0;
      const differs = own.sha256 !== sourceMap.sha256;
      if (differs && this.#differed) {
        this.mismatches++;
        log.warn({ source: source.url, own, theirs: sourceMap }, "the address index differs from the source's");
      }
      const isNew = differs && !this.#differed;
      this.#differed = differs;
      this.#replica.progress.changed();
      return isNew ? SOON_MS : PAUSE_MS;
    } catch (caught) {
      if (!this.#stopping.signal.aborted) log.debug({ err: caught }, 'the address index could not be compared');
      return PAUSE_MS;
    } finally {
      line.destroy();
    }
  }
}
