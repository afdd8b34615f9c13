import type { Outcome } from '../../../../machines/sync/replica.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { type BlockHashes, blockText, sameBlock } from '../../../wire/data/database.ts';
import { Download } from '../../client/download.ts';
import type { SourceSize } from '../../client/source-client.ts';
import { finishTables, type SchemaPlan } from '../../ddl/schema-writer.ts';
import { writeReplicaState } from '../database/state.ts';
import { STATEMENT_LIMIT_S } from '../database/writer-connection.ts';
import { SourceBackoff } from '../parts/backoff.ts';
import { fileOf, type Replica } from '../parts/replica.ts';
import { tellLeftOut } from '../parts/source-schema.ts';
import type { SourceQuorum } from '../quorum/source-quorum.ts';
import { checkBalances, checkBlocks, checkCounts, checkReferences, refusal } from './snapshot-check.ts';
import { SnapshotLoader } from './snapshot-loader.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'commitment'>;

/** Upper bound of a compressed snapshot's size, as a part of the database's size on disk. */
const COMPRESSED = 0.25;

/** Longest pause between two snapshots that fail by themselves: a source counts the snapshots of an hour. */
const MAX_PAUSE_MS = 900_000;

/** Makes a replica from a full snapshot. Until `check` has ended, the marker says that it is not complete. */
export class ReplicaBootstrap {
  readonly #replica: Parts;
  readonly #sourceQuorum: SourceQuorum;
  readonly #backoff: SourceBackoff;
  #plan: SchemaPlan | undefined;
  #download: Download | undefined;
  #loader: SnapshotLoader | undefined;
  /** The snapshot's block as the sources named it before its rows were loaded; null where none could. */
  #named: BlockHashes | null = null;
  /** False while the snapshot's block is one that the sources have passed and cannot name: a catch-up settles it. */
  #isSettled = true;
  /** First block of a truncated replica; null: its source's first. */
  #floor: number | null = null;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#sourceQuorum = sourceQuorum;
    this.#backoff = new SourceBackoff(replica, 'a snapshot', MAX_PAUSE_MS);
  }

  /** Clears the marker first: the tables are about to be emptied. */
  async fetchSchema(signal: AbortSignal): Promise<void> {
    await this.#backoff.pause(signal);
    this.#replica.commitment?.forget('the replica is loaded anew');
    const { writer, state } = this.#replica.store;
    const { data } = this.#replica;
    await writeReplicaState(writer, {
      complete: false,
      phase: 'bootstrapping',
      height: null,
      blockTime: null,
      hashes: null,
      verifiedHeight: null,
      compared: null,
      verifiedAt: null,
      dispensers: null,
      floor: state.bootstrap && data.bootstrapDepth ? state.floor : null,
      infraOnly: data.infraOnly ?? false
    });
    await this.#replica.store.reloadState();
    this.#plan = this.#replica.store.planSchema(await this.#replica.sources.client.schema(signal));
    if (!data.infraOnly && !this.#plan.tables.some(({ table }) => table.name === 'blocks'))
      throw new PlatformError('SOURCE_INVALID', { reason: "the source's schema has no table blocks" });
    await writeReplicaState(writer, { notReplicated: tellLeftOut(this.#replica, this.#plan) });
    await this.#replica.store.reloadState();
  }

  /**
   * Begins the download, or resumes one whose rows may be in already. Rows are loaded only for a block that the sources agree on,
   * and `check` finds no other. Where nobody names the block yet, `check` asks once the rows are in.
   */
  async download(signal: AbortSignal): Promise<Outcome> {
    return this.#backoff.attempt(() => this.#beginDownload(signal));
  }

  async #beginDownload(signal: AbortSignal): Promise<Outcome> {
    const { client: source } = this.#replica.sources;
    const { log } = this.#replica;
    const { state } = this.#replica.store;
    this.#download?.abort();
    this.#isSettled = true;
    this.#floor = await this.#findFloor(signal);
    const path = this.#floor === null ? source.modePath('snapshot') : source.sincePath({ since: this.#floor - 1 });
    const size = await this.#tellSize(signal);
    const download = await Download.open(source, fileOf(this.#replica.data, 'snapshot'), {
      path,
      expectedBytes: size === null ? undefined : Math.ceil(size.bytes * COMPRESSED),
      onWait: (waitMs, fault) =>
        log.warn({ waitS: waitMs / 1000, err: fault }, `the download was interrupted; it goes on in ${waitMs / 1000} s`)
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
    // A truncated replica starts over: rows of one table may come in both sections of a since-snapshot.
    const isSame =
      this.#floor === null && etag !== null && state.bootstrap?.etag === etag && state.bootstrap.source === source.url;
    const progress = isSame ? state.bootstrap! : { source: source.url, etag, done: {} };
    this.#loader = new SnapshotLoader(this.#replica, {
      plan: this.#plan!,
      download,
      announcedBytes: size?.bytes ?? null,
      floor: this.#floor,
      progress
    });
    this.#replica.sources.standsAt(height);
    const resumedTables = Object.keys(progress.done).length;
    log.info({ height, etag, floor: this.#floor ?? undefined, resumedTables }, 'snapshot download begins');
    this.#named = hashes ?? (await this.#statedHashes(height, signal));
    return this.#named === null ? { kind: 'done' } : this.#confirm(height, this.#named, signal);
  }

  /** Returns the hashes of a block if the source's status names exactly that block; else null. */
  async #statedHashes(height: number, signal: AbortSignal): Promise<BlockHashes | null> {
    const status = await this.#replica.sources.client.status(signal);
    return status.height === height && blockText(status.hashes) !== null ? status.hashes : null;
  }

  async #confirm(height: number, hashes: BlockHashes, signal: AbortSignal): Promise<Outcome> {
    const verdict = await this.#sourceQuorum.confirm(height, hashes, signal);
    if (verdict === 'other') {
      await this.#discard();
      throw refusal(`the source's chain no longer has block ${height}`);
    }
    this.#isSettled = verdict !== 'unnamed';
    return { kind: verdict === 'halted' ? 'halted' : 'done' };
  }

  /** Logs how large the replica gets, before hours are spent on it. */
  async #tellSize(signal: AbortSignal): Promise<SourceSize | null> {
    const { client: source } = this.#replica.sources;
    const { data, log } = this.#replica;
    const size = this.#floor === null && !data.infraOnly ? await source.size(signal) : null;
    if (size)
      log.info(
        { ...size, source: source.url },
        `${data.coordinates.name} takes about ${Math.round(size.bytes / 2 ** 20)} MB at its source`
      );
    return size;
  }

  /**
   * Returns the first block of an empty replica if its source's history is longer than the settings want; null: the whole history.
   */
  async #findFloor(signal: AbortSignal): Promise<number | null> {
    const { client: source } = this.#replica.sources;
    const { data } = this.#replica;
    const { state } = this.#replica.store;
    if (!data.bootstrapDepth) return null;
    if (state.floor !== null) return state.floor;
    const { height } = await source.status(signal);
    return height !== null && height > data.bootstrapDepth ? height - data.bootstrapDepth + 1 : null;
  }

  async load(signal: AbortSignal): Promise<void> {
    await this.#backoff.attempt(() => this.#unlessRefused(this.#loader!.load(signal)));
  }

  /** Compares the stored rows with what was received and what the source reported. Only then is the replica complete. */
  async check(signal: AbortSignal): Promise<Outcome> {
    const outcome = await this.#backoff.attempt(() => this.#check(signal));
    this.#backoff.succeeded();
    return outcome;
  }

  async #check(signal: AbortSignal): Promise<Outcome> {
    const { writer } = this.#replica.store;
    const { data, log } = this.#replica;
    const { client: source } = this.#replica.sources;
    const { head } = this.#download!;
    await finishTables(writer, this.#plan!.tables);
    const tip = await this.#unlessRefused(this.#checkContent(signal));
    if (this.#named === null && tip.hashes !== null) {
      const outcome = await this.#unlessRefused(this.#confirmTip(head.height, tip.hashes, signal));
      if (outcome.kind !== 'done') return outcome;
    }
    await writeReplicaState(writer, {
      height: head.height,
      blockTime: tip.blockTime,
      hashes: tip.hashes,
      schemaFingerprint: this.#plan!.fingerprint,
      source: source.url,
      bootstrap: null,
      ids: { source: source.url, own: [] },
      dispensers: this.#floor === null ? { height: head.height, at: new Date().toISOString() } : null,
      floor: this.#floor === null ? null : (tip.lowest ?? this.#floor),
      phase: 'catchingUp',
      amendments: null,
      misses: false,
      settledHeight: null,
      learned: head.learned?.id ?? null,
      life: head.life,
      complete: this.#isSettled
    });
    await writer.query(`SET SESSION max_statement_time = ${STATEMENT_LIMIT_S}`);
    await this.#replica.store.reloadState();
    await this.#download!.discard();
    this.#replica.progress.percent = null;
    this.#replica.progress.pace = null;
    log.info(
      { height: head.height, tables: this.#plan!.tables.length },
      `bootstrap of ${data.coordinates.name} is complete`
    );
    return { kind: 'done' };
  }

  /**
   * Compares a block that is known from the body alone with what the sources say. A source that has gone on does not tell; the
   * catch-up that follows compares the block with the source's chain before the replica is live.
   */
  async #confirmTip(height: number, hashes: BlockHashes, signal: AbortSignal): Promise<Outcome> {
    const stated = await this.#statedHashes(height, signal);
    if (stated !== null && !sameBlock(stated, hashes))
      throw refusal(`the hashes of block ${height} differ from the source's status`);
    return this.#confirm(height, hashes, signal);
  }

  async #checkContent(signal: AbortSignal) {
    await checkCounts(this.#replica, this.#plan!, this.#loader!.received, signal);
    await this.#replica.store.reloadSchema();
    const tip = await checkBlocks(this.#replica, this.#download!.head.height, this.#named);
    // Of a part of the history neither adds up.
    if (this.#floor === null) {
      await checkBalances(this.#replica);
      // A source of our own make offers digests, which say more.
      if (this.#plan!.fingerprint === null) await checkReferences(this.#replica);
    }
    return tip;
  }

  /** Runs work on a snapshot, and discards what was loaded if the snapshot is refused or truncated. */
  async #unlessRefused<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (caught) {
      const damaged = hasCode(caught, 'SOURCE_TRUNCATED') && this.#download!.percent === 100;
      if (damaged || hasCode(caught, 'SOURCE_INVALID')) await this.#discard();
      throw caught;
    }
  }

  async #discard(): Promise<void> {
    await this.#download!.discard();
    await writeReplicaState(this.#replica.store.writer, { bootstrap: null, floor: null });
    await this.#replica.store.reloadState();
  }
}
