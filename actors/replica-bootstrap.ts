import type { Outcome } from '../machines/replica.ts';
import { readBlockHeads } from '../src/db/block-hashes.ts';
import { logBlocks } from '../src/db/block-writer.ts';
import { allowsBulkLoad } from '../src/db/bulk-load.ts';
import { quoteName, rows } from '../src/db/connection.ts';
import { LoaderPool } from '../src/db/loader-pool.ts';
import { findUnresolved } from '../src/db/references.ts';
import { type ReplicaTable, travels } from '../src/db/replica-schema.ts';
import { type BootstrapProgress, writeReplicaState } from '../src/db/replica-state.ts';
import { addKeys, finishTables, recreateTables, type SchemaPlan } from '../src/db/schema-writer.ts';
import { TableFinisher } from '../src/db/table-finisher.ts';
import type { LoggedBlock } from '../src/db/transparency-log.ts';
import { cutJournal } from '../src/db/undo-journal.ts';
import { STATEMENT_LIMIT_S } from '../src/db/writer-connection.ts';
import { hasCode, PlatformError } from '../src/errors.ts';
import { readSnapshot } from '../src/snapshot/snapshot-reader.ts';
import { Download } from '../src/source/download.ts';
import type { SourceSize } from '../src/source/source-client.ts';
import { SCHEMA_VERSION, sameBlock } from '../src/wire/database.ts';
import type { WireRow } from '../src/wire/messages.ts';
import { Pace } from './pace.ts';
import type { SourceCouncil } from './replica-council.ts';
import type { ReplicaSession } from './replica-session.ts';

/** Tables are loaded on this many connections at once. */
const LOADERS = 2;
/** As text; the rows of a batch are some ten times as large in memory, and several are under way. */
const BATCH_BYTES = 2 ** 20;
const HEADS_PAGE = 1_000;
const BEFORE_ALL = -1;
/** Of what a database takes on disk, a compressed snapshot is less than this part. */
const COMPRESSED = 0.25;

const sumOf = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);
const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/** Makes a replica from a full snapshot. Until `check` has ended, the marker says that it is not complete. */
export class ReplicaBootstrap {
  readonly #session: ReplicaSession;
  readonly #council: SourceCouncil;
  #plan: SchemaPlan | undefined;
  #download: Download | undefined;
  #progress: BootstrapProgress | undefined;
  /** First block of a truncated replica; null: its source's first. */
  #floor: number | null = null;

  constructor(session: ReplicaSession, council: SourceCouncil) {
    this.#session = session;
    this.#council = council;
  }

  /** Clears the marker first: whatever stood in the tables is about to go. */
  async fetchSchema(signal: AbortSignal): Promise<void> {
    this.#session.commitment?.forget('the replica is loaded anew');
    const { writer, data, state } = this.#session;
    await writeReplicaState(writer, {
      complete: false,
      phase: 'bootstrapping',
      height: null,
      blockTime: null,
      hashes: null,
      verifiedHeight: null,
      verifiedAt: null,
      dispensers: null,
      floor: state.bootstrap && data.bootstrapDepth ? state.floor : null,
      infraOnly: data.infraOnly ?? false
    });
    await this.#session.reloadState();
    this.#plan = await this.#session.planSchema(signal);
  }

  /**
   * Begins the download, or resumes one whose rows may be in already. Rows are loaded only for a block that the sources agree on,
   * and `check` finds no other.
   */
  async download(signal: AbortSignal): Promise<Outcome> {
    const { source, log, state } = this.#session;
    this.#download?.abort();
    this.#floor = await this.#findFloor(signal);
    const path = this.#floor === null ? source.modePath('snapshot') : source.sincePath({ since: this.#floor - 1 });
    const size = await this.#tellSize(signal);
    const download = await Download.open(source, this.#session.file('snapshot'), {
      path,
      expectedBytes: size === null ? undefined : Math.ceil(size.bytes * COMPRESSED),
      onWait: (waitMs, fault) => log.warn({ waitS: waitMs / 1000, err: fault }, 'the download is interrupted')
    });
    this.#download = download;
    const { etag, height, hashes, fingerprint } = download.head;
    const expected = this.#plan!.fingerprint;
    if (fingerprint !== null && expected !== null && fingerprint !== expected) {
      await download.discard();
      throw new PlatformError('SOURCE_TRUNCATED', {
        reason: 'the schema changed before the snapshot was built: it is fetched again'
      });
    }
    const same =
      etag !== null && state.bootstrap?.etag === etag && state.bootstrap.source === source.url && this.#floor === null; // rows of one table may come in both sections of a since-snapshot
    this.#progress = same ? state.bootstrap! : { source: source.url, etag, done: {} };
    this.#session.sourceAt(height);
    const resumedTables = Object.keys(this.#progress.done).length;
    log.info({ height, etag, floor: this.#floor ?? undefined, resumedTables }, 'snapshot download begins');
    const ruling = await this.#council.confirm(height, hashes, signal);
    if (ruling === 'other') await this.#fail(`block ${height} is not in the chain of the source any more`);
    return { kind: ruling === 'halted' ? 'halted' : 'done' };
  }

  /** Said before hours are spent on it: how large the replica gets. */
  async #tellSize(signal: AbortSignal): Promise<SourceSize | null> {
    const { source, data, log } = this.#session;
    const size = this.#floor === null && !data.infraOnly ? await source.size(signal) : null;
    if (size)
      log.info(
        { ...size, source: source.url },
        `${data.coordinates.name} takes about ${megabytes(size.bytes)} MB at its source`
      );
    return size;
  }

  /** Where an empty replica is to begin when its source's history is longer than is wanted; null: with the first block. */
  async #findFloor(signal: AbortSignal): Promise<number | null> {
    const { source, data, state } = this.#session;
    if (!data.bootstrapDepth) return null;
    if (state.floor !== null) return state.floor;
    const { height } = await source.status(signal);
    return height !== null && height > data.bootstrapDepth ? height - data.bootstrapDepth + 1 : null;
  }

  async load(signal: AbortSignal): Promise<void> {
    const { writer, data, log } = this.#session;
    const plan = this.#plan!;
    const download = this.#download!;
    await writer.query('SET SESSION max_statement_time = 0'); // keys over large tables take their time
    await cutJournal(writer, BEFORE_ALL);
    await writeReplicaState(writer, { bootstrap: this.#progress!, floor: this.#floor });
    await recreateTables(
      writer,
      plan.tables.filter(({ table }) => !Object.hasOwn(this.#progress!.done, table.name))
    );
    await this.#session.reloadSchema();
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
      await this.#loadTables(download, pool, finisher, signal);
      await finisher.end();
    } catch (caught) {
      pool.destroy();
      await finisher.abandon();
      const damaged = hasCode(caught, 'SOURCE_TRUNCATED') && download.percent === 100;
      if (damaged || hasCode(caught, 'SOURCE_INVALID')) await this.#discard();
      throw caught;
    }
    await pool.close();
    log.info({ rows: sumOf(this.#progress!.done) }, 'all rows are in: what is left is to check them');
  }

  async #loadTables(download: Download, pool: LoaderPool, finisher: TableFinisher, signal: AbortSignal): Promise<void> {
    const { schema } = this.#session.context;
    const limits = { maxRowBytes: this.#session.data.maxRowBytes, batchBytes: BATCH_BYTES };
    const before = { ...this.#progress!.done };
    const ended = new Set<string>();
    const planned = new Map(this.#plan!.tables.map((table) => [table.table.name, table]));
    const batches = readSnapshot(download.read(), download.head.coding, limits);
    const pace = new Pace(download.head.rows);
    let next = await batches.next();
    for (; !next.done; next = await batches.next()) {
      signal.throwIfAborted();
      const { table: name, rows: batch, last, section } = next.value;
      if (pace.add(batch.length)) this.#tell(pace, download);
      const table = schema.byName.get(name);
      if (!table && schema.isLocal(name)) continue;
      if (!table || (section !== 'tables' && this.#floor === null))
        throw new PlatformError('SOURCE_INVALID', {
          reason: `the snapshot has rows of unknown table ${name}`,
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
        if (this.#floor === null) await addKeys(connection, planned.get(name)!);
      });
      finisher.throwIfFailed();
    }
    await finisher.settled();
    const { schema_version, block_height } = next.value;
    if (block_height !== download.head.height || schema_version !== SCHEMA_VERSION[this.#session.data.id.dbType]) {
      throw new PlatformError('SOURCE_INVALID', {
        reason: 'the body of the snapshot has another height or version than its headers'
      });
    }
    for (const { name } of schema.tables.filter(travels)) {
      if (!Object.hasOwn(this.#progress!.done, name)) await this.#done(name, 0);
    }
  }

  /** What a since-snapshot tells beside its blocks' rows; rows of older blocks are not kept. */
  async #update(table: ReplicaTable, batch: readonly WireRow[], pool: LoaderPool, comesAgain: boolean): Promise<void> {
    if (table.plan.class === 'scoped') return;
    if (comesAgain) await pool.remove(table, batch);
    await pool.add(table, batch);
  }

  /** Durable when it returns: after a crash this table is not loaded again. */
  async #done(name: string, count: number): Promise<void> {
    this.#progress = { ...this.#progress!, done: { ...this.#progress!.done, [name]: count } };
    await writeReplicaState(this.#session.writer, { bootstrap: this.#progress });
  }

  #tell(pace: Pace, { percent, sizeBytes }: Download): void {
    const { log } = this.#session;
    const { rowsPerSecond, etaSeconds, rows: loaded } = pace;
    const known = pace.percent ?? (percent === null ? null : percent / 2);
    this.#session.percent = known === null ? null : Math.min(99, Math.floor(known));
    this.#session.pace = { rowsPerSecond, etaSeconds };
    this.#session.changed();
    if (!pace.isDue()) return;
    const left = etaSeconds === null ? '' : `, about ${Math.ceil(etaSeconds / 60)} min left`;
    const facts = {
      percent: this.#session.percent,
      rows: loaded,
      rowsPerSecond,
      etaSeconds,
      megabytes: megabytes(sizeBytes)
    };
    log.info(facts, `bootstrap: ${this.#session.percent ?? '?'}%, ${loaded} rows, ${rowsPerSecond} rows/s${left}`);
  }

  /** Compares what is there with what was received and what the source said; only then the replica is complete. */
  async check(signal: AbortSignal): Promise<void> {
    const { writer, data, log, source } = this.#session;
    const { head } = this.#download!;
    await finishTables(writer, this.#plan!.tables);
    for (const { table } of this.#plan!.tables) {
      signal.throwIfAborted();
      const [row] = await rows(writer, `SELECT COUNT(*) AS n FROM ${quoteName(table.name)}`);
      const received = this.#progress!.done[table.name] ?? 0;
      if (Number(row!['n']) !== received)
        await this.#fail(`table ${table.name} has ${row!['n']} rows, ${received} were received`);
    }
    await this.#session.reloadSchema();
    const tip = await this.#checkBlocks();
    if (this.#floor === null) await this.#checkContent();
    await writeReplicaState(writer, {
      height: head.height,
      blockTime: tip.blockTime,
      hashes: tip.hashes,
      schemaFingerprint: this.#plan!.fingerprint,
      source: source.url,
      bootstrap: null,
      dispensers: this.#floor === null ? { height: head.height, at: new Date().toISOString() } : null,
      floor: this.#floor === null ? null : tip.lowest,
      phase: 'catchingUp',
      complete: true
    });
    await writer.query(`SET SESSION max_statement_time = ${STATEMENT_LIMIT_S}`);
    await this.#session.reloadState();
    await this.#download!.discard();
    this.#session.percent = null;
    this.#session.pace = null;
    log.info(
      { height: head.height, tables: this.#plan!.tables.length },
      `bootstrap of ${data.coordinates.name} is complete`
    );
  }

  /** Heights without a gap, up to the source's block with the source's hashes; they become the transparency log. */
  async #checkBlocks() {
    const { writer, context, data } = this.#session;
    const { height, hashes } = this.#download!.head;
    const { heads, only } = context.schema;
    if (only) return { lowest: this.#floor, blockTime: null, hashes };
    if (!heads) return this.#fail('there is no table blocks');
    const [lowest] = await rows(writer, 'SELECT MIN(block_index) AS h, MAX(block_index) AS top FROM blocks');
    if (Number(lowest!['top']) !== height)
      await this.#fail(`the highest block is ${lowest!['top']}, the source said ${height}`);
    if (heads.dbType === 'indexer') await writer.query('TRUNCATE sync_meta');
    if (heads.dbType === 'indexer') await writer.query('TRUNCATE merkle_epochs');
    let tip = null;
    for (let from = Number(lowest!['h']); from <= height; from += HEADS_PAGE) {
      const to = Math.min(height, from + HEADS_PAGE - 1);
      const page = await readBlockHeads(writer, heads, from, to);
      if (page.length !== to - from + 1) await this.#fail(`blocks from ${from} to ${to} are not without a gap`);
      if (heads.dbType === 'indexer') await logBlocks(writer, page as readonly LoggedBlock[], data.epochSize);
      tip = page.at(-1)!;
    }
    if (!tip || !sameBlock(tip.hashes, hashes))
      return this.#fail(`block ${height} has other hashes than the source said`);
    return { lowest: Number(lowest!['h']), blockTime: tip.blockTime, hashes: tip.hashes };
  }

  /** What a balance is made of is the source's to say, so a difference is told and not refused: it is the source's own. */
  async #checkBalances(): Promise<void> {
    const { writer, context, log } = this.#session;
    const has = (name: string, ...columns: string[]) =>
      columns.every((column) => context.schema.byName.get(name)?.plan.columns.some((each) => each.name === column));
    const pair = ['address_id', 'tick_id', 'amount'];
    if (!has('balances', ...pair) || !has('credits', ...pair) || !has('debits', ...pair)) return;
    const part = (name: string, sign: string) =>
      `SELECT address_id, tick_id, ${sign}CAST(amount AS DECIMAL(65,18)) AS amount FROM ${name}`;
    const moves = [part('credits', ''), part('debits', '-'), part('balances', '-')];
    const sums = has('escrows', ...pair) ? [moves, [...moves, part('escrows', '-')]] : [moves];
    let differing = 0;
    for (const parts of sums) {
      const [row] = await rows(
        writer,
        `SELECT COUNT(*) AS n FROM (SELECT 1 FROM (${parts.join(' UNION ALL ')}) p GROUP BY address_id, tick_id HAVING SUM(amount) <> 0) d`
      );
      differing = Number(row!['n']);
      if (differing === 0) return;
    }
    log.warn({ pairs: differing }, 'balances of the source are not its credits - debits, with or without escrows');
  }

  /** What only a whole history adds up to. */
  async #checkContent(): Promise<void> {
    await this.#checkBalances();
    // A source of our own make offers digests, which say more.
    if (this.#plan!.fingerprint === null) await this.#checkReferences();
  }

  /** As with balances, what leads nowhere is told and not refused. */
  async #checkReferences(): Promise<void> {
    const { writer, context, log } = this.#session;
    for (const { table, parent, count } of await findUnresolved(writer, context.schema))
      log.warn(
        { table, parent, rows: count },
        `${count} rows of ${table} refer to rows of ${parent} that are not there`
      );
  }

  /** What is in is not what was sent: nothing of it is used again. */
  async #fail(reason: string): Promise<never> {
    await this.#discard();
    throw new PlatformError('SOURCE_INVALID', { reason: `the snapshot is refused: ${reason}` });
  }

  async #discard(): Promise<void> {
    await this.#download!.discard();
    await writeReplicaState(this.#session.writer, { bootstrap: null, floor: null });
    await this.#session.reloadState();
  }
}
