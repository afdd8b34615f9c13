import { hasCode, PlatformError } from '../../../errors.ts';
import type { Dispensers } from '../../../wire/data/pages.ts';
import type { ReplicaTable } from '../database/schema.ts';
import { replaceTable } from '../load/replace-table.ts';
import type { Replica } from '../parts/replica.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

const INTERVAL_MS = 30 * 60_000;
const PATIENCE_MS = 60_000;

/**
 * Keeps a decoder's dispensers near its source's: no block carries them, because expired ones vanish without a trace.
 * They are replaced whole once the replica has caught up, and again from time to time; a source's fault leaves them as they are.
 */
export class ReplicaDispensers {
  readonly #replica: Parts;
  #dueAt = 0;

  constructor(replica: Parts) {
    this.#replica = replica;
  }

  get isDue(): boolean {
    return performance.now() >= this.#dueAt && this.#table !== undefined;
  }

  /** @throws {PlatformError} DATABASE_*, ROW_REFUSED: the writer is gone then */
  async replace(signal: AbortSignal): Promise<void> {
    this.#dueAt = performance.now() + (this.#replica.data.dispensersIntervalMs ?? INTERVAL_MS);
    const { client: source } = this.#replica.sources;
    const { writer } = this.#replica.store;
    const { log } = this.#replica;
    const table = this.#table!;
    const found = await this.#fetch(AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
    if (!found || signal.aborted) return;
    const dispensers = { height: found.height, at: new Date().toISOString() };
    try {
      await replaceTable(writer, table, found.rows, { dispensers });
    } catch (caught) {
      if (!hasCode(caught, 'SOURCE_INVALID')) throw caught;
      log.warn({ err: caught, source: source.url }, 'dispensers from the source are invalid; keeping the old ones');
      return;
    }
    await this.#replica.store.reloadState();
    log.debug({ ...dispensers, rows: found.rows.length }, 'dispensers replaced');
  }

  get #table(): ReplicaTable | undefined {
    return this.#replica.store.context.schema.tables.find(({ plan }) => plan.class === 'snapshotOnly');
  }

  async #fetch(signal: AbortSignal): Promise<(Dispensers & { readonly height: number | null }) | undefined> {
    const { client: source } = this.#replica.sources;
    const { log } = this.#replica;
    try {
      const found = await source.dispensers(signal);
      if (!found.has_more) return found;
      throw new PlatformError('SOURCE_INVALID', { reason: `${source.url} sent only a part of its dispensers` });
    } catch (caught) {
      const status = hasCode(caught, 'SOURCE_REFUSED') ? Number(caught.detail['status']) : 0;
      if ([403, 404, 405, 501].includes(status)) log.info({ source: source.url }, 'the source offers no dispensers');
      else log.warn({ err: caught, source: source.url }, 'dispensers could not be fetched; keeping the old ones');
      return undefined;
    }
  }
}
