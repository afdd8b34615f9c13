import { PlatformError } from '../../../errors.ts';
import { SCHEMA_VERSION } from '../../../wire/data/database.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import type { Download } from '../../client/download.ts';
import { addKeys, recreateTables, type SchemaPlan } from '../../ddl/schema-writer.ts';
import { readSnapshot } from '../../snapshot/snapshot-reader.ts';
import { cutJournal } from '../apply/undo-journal.ts';
import { type ReplicaTable, travels } from '../database/schema.ts';
import { type BootstrapProgress, writeReplicaState } from '../database/state.ts';
import { allowsBulkLoad } from '../load/bulk-load.ts';
import { LoaderPool } from '../load/loader-pool.ts';
import { TableFinisher } from '../load/table-finisher.ts';
import type { Replica } from '../parts/replica.ts';
import { Pace } from './pace.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store'>;

/** Tables are loaded on this many connections at once. */
const LOADERS = 2;
/** As text; the rows of a batch are some ten times as large in memory, and several are under way. */
const BATCH_BYTES = 2 ** 19;
const BEFORE_ALL = -1;
/** A body is longer than its database on disk: each row names its columns, and MariaDB may compress pages. */
const TEXT_PER_BYTE = 256;
const SMALL_BYTES = 2 ** 30;

const sumOf = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/** Input of one load. */
export interface Loading {
  readonly plan: SchemaPlan;
  readonly download: Download;
  /** Bytes on disk that the source names for its database; null: it does not. */
  readonly announcedBytes: number | null;
  /** First block of a truncated replica; null: its source's first. */
  readonly floor: number | null;
  /** Progress of an earlier attempt with the same body. */
  readonly progress: BootstrapProgress;
}

/** Takes the rows of a snapshot into empty tables while its body still arrives. */
export class SnapshotLoader {
  readonly #replica: Parts;
  readonly #loading: Loading;
  #progress: BootstrapProgress;

  constructor(replica: Parts, loading: Loading) {
    this.#replica = replica;
    this.#loading = loading;
    this.#progress = loading.progress;
  }

  /** Rows of each table that is loaded whole. */
  get received(): Readonly<Record<string, number>> {
    return this.#progress.done;
  }

  /** @throws {PlatformError} SOURCE_INVALID, SOURCE_TRUNCATED, DATABASE_UNAVAILABLE */
  async load(signal: AbortSignal): Promise<void> {
    const { writer } = this.#replica.store;
    const { data, log } = this.#replica;
    const { plan, floor } = this.#loading;
    await writer.query('SET SESSION max_statement_time = 0'); // keys over large tables take their time
    await cutJournal(writer, BEFORE_ALL);
    await writeReplicaState(writer, { bootstrap: this.#progress, floor });
    await recreateTables(
      writer,
      plan.tables.filter(({ table }) => !Object.hasOwn(this.received, table.name))
    );
    await this.#replica.store.reloadSchema();
    const bulk = await allowsBulkLoad(writer);
    if (!bulk)
      log.warn('local_infile is off at the replica server: rows go in by INSERT, which is several times slower');
    const pool = await LoaderPool.open(data.coordinates, data.generation, LOADERS, bulk);
    signal.addEventListener('abort', () => pool.destroy(), { once: true });
    const finisher = await TableFinisher.open(data.coordinates, data.generation).catch((caught: unknown) => {
      pool.destroy();
      throw caught;
    });
    signal.addEventListener('abort', () => void finisher.abandon(), { once: true });
    try {
      await this.#loadTables(pool, finisher, signal);
      await finisher.end();
    } catch (caught) {
      pool.destroy();
      await finisher.abandon();
      throw caught;
    }
    await pool.close();
    log.info({ rows: sumOf(this.received) }, 'all rows are loaded; checking them');
  }

  async #loadTables(pool: LoaderPool, finisher: TableFinisher, signal: AbortSignal): Promise<void> {
    const { schema } = this.#replica.store.context;
    const { plan, download, floor, announcedBytes } = this.#loading;
    const { maxRowBytes } = this.#replica.data;
    const maxBodyBytes = announcedBytes === null ? {} : { maxBodyBytes: SMALL_BYTES + TEXT_PER_BYTE * announcedBytes };
    const limits = { maxRowBytes, batchBytes: BATCH_BYTES, ...maxBodyBytes };
    const before = { ...this.received };
    const ended = new Set<string>();
    const planned = new Map(plan.tables.map((table) => [table.table.name, table]));
    const batches = readSnapshot(download.read(), download.head.coding, limits);
    const pace = new Pace(download.head.rows);
    let next = await batches.next();
    for (; !next.done; next = await batches.next()) {
      signal.throwIfAborted();
      const { table: name, rows: batch, last, section } = next.value;
      if (pace.add(batch.length)) this.#tell(pace);
      if (schema.isLocal(name)) continue;
      // A table that is left from an earlier attempt is not one of this source.
      const table = planned.has(name) ? schema.byName.get(name) : undefined;
      const isExpected = section === 'tables' || (section === 'updated_rows' && floor !== null);
      if (!table || !isExpected)
        throw new PlatformError('SOURCE_INVALID', {
          reason: `the snapshot has ${table ? `${section} of` : 'rows of unknown table'} ${name}`,
          table: name
        });
      if (!travels(table) || Object.hasOwn(before, name)) continue;
      if (section === 'updated_rows') await this.#update(table, batch, pool, ended.has(name));
      else await pool.add(table, batch);
      if (!last) continue;
      ended.add(name);
      // The next table's rows do not wait for this one's to be committed and its keys to be made.
      finisher.add(async (connection) => {
        await this.#done(name, await pool.finish(name));
        if (floor === null) await addKeys(connection, planned.get(name)!);
      });
      finisher.throwIfFailed();
    }
    await finisher.settled();
    const { schema_version, block_height } = next.value;
    if (block_height !== download.head.height || schema_version !== SCHEMA_VERSION[this.#replica.data.id.dbType]) {
      throw new PlatformError('SOURCE_INVALID', {
        reason: "the snapshot's body and headers differ in height or version"
      });
    }
    for (const { name } of schema.tables.filter(travels)) {
      if (!Object.hasOwn(this.received, name)) await this.#done(name, 0);
    }
  }

  /** Applies the rows that a since-snapshot has beside those of its blocks; rows of older blocks are not kept. */
  async #update(table: ReplicaTable, batch: readonly WireRow[], pool: LoaderPool, comesAgain: boolean): Promise<void> {
    if (table.plan.class === 'scoped') return;
    if (comesAgain) await pool.remove(table, batch);
    await pool.add(table, batch);
  }

  /** Records that a table is loaded; durable when it returns, so that it is not loaded again after a crash. */
  async #done(name: string, count: number): Promise<void> {
    this.#progress = { ...this.#progress, done: { ...this.received, [name]: count } };
    await writeReplicaState(this.#replica.store.writer, { bootstrap: this.#progress });
  }

  #tell(pace: Pace): void {
    const { log } = this.#replica;
    const { percent, sizeBytes } = this.#loading.download;
    const { rowsPerSecond, etaSeconds, rows } = pace;
    const known = pace.percent ?? (percent === null ? null : percent / 2);
    this.#replica.progress.percent = known === null ? null : Math.min(99, Math.floor(known));
    this.#replica.progress.pace = { rowsPerSecond, etaSeconds };
    this.#replica.progress.changed();
    if (!pace.isDue()) return;
    const left = etaSeconds === null ? '' : `, about ${Math.ceil(etaSeconds / 60)} min left`;
    const megabytes = Math.round(sizeBytes / 2 ** 20);
    const facts = { percent: this.#replica.progress.percent, rows, rowsPerSecond, etaSeconds, megabytes };
    log.info(
      facts,
      `bootstrap: ${this.#replica.progress.percent ?? '?'}%, ${rows} rows, ${rowsPerSecond} rows/s${left}`
    );
  }
}
