import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { NO_TRACE, type Trace } from '../../observe/trace.ts';
import { databaseKey } from '../../wire/data/database.ts';
import type { SnapshotCoding, SnapshotOrder } from '../../wire/data/snapshot.ts';
import { Artifact } from './artifact.ts';
import { ArtifactShelf } from './artifact-shelf.ts';
import { BuildSlots, type Slot } from './build-slots.ts';
import { Reader } from './reader.ts';
import { buildSnapshot, type RunBuild, type SnapshotSource } from './snapshot-build.ts';

export { Artifact, type ArtifactHeaders } from './artifact.ts';
export { Reader } from './reader.ts';
export type { RunBuild, SnapshotSource } from './snapshot-build.ts';

interface ArtifactStoreOptions {
  /** Made private (0700) where it is missing; artifacts of an earlier process in it are removed. */
  readonly directory: string;
  /** Most bytes of all artifacts, those that are read included; `maxBuilds` of them are kept however large they are. */
  readonly maxBytes: number;
  /** Simultaneous builds in this process, in addition to a short one; a caller without a place in time gets SNAPSHOT_BUSY. */
  readonly maxBuilds: number;
  /** A build that takes longer has failed: its read holds back the purge of the database it reads. */
  readonly budgetMs: number;
  readonly runBuild: RunBuild;
  readonly log: Logger;
  /** The source's side of builds; without it no reader continues from a snapshot. */
  readonly source?: SnapshotSource;
  /** Default: does nothing. */
  readonly trace?: Trace;
  /** An older artifact is shared no more. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Free disk below this refuses a build. Default 512 MiB. */
  readonly minFreeBytes?: number;
  /** Longest time that a caller waits for a place to build in. Default 3 seconds. */
  readonly patienceMs?: number;
  /** Time after which a build without readers ends: some come again. Default 10 s; since-snapshots 1 s. */
  readonly unreadMs?: number;
  /** A build without progress for this long has failed. Default 3 minutes. */
  readonly stallMs?: number;
}

/** @see ArtifactStoreOptions.unreadMs */
const SHORT_UNREAD_MS = 1_000;
/** The same, when its last reader left as soon as it had come. */
const LEFT_UNREAD_MS = 250;
const EXTENSIONS: Readonly<Record<SnapshotCoding, string>> = { gzip: 'json.gz', zstd: 'json.zst' };
const FILE_PATTERN = /^[0-9a-f]{32}\.json\.(gz|zst)$/;
/** A since-snapshot of at most this many blocks is short. */
const SHORT_BLOCKS = 100;

/**
 * Snapshot files, built once and shared by all callers with the same request and coding.
 *
 * At most one build per order and coding runs; an artifact that is being built or read keeps its file, unless its readers have to
 * give way to others; a failed one is gone.
 */
export class ArtifactStore {
  readonly #options: Required<ArtifactStoreOptions>;
  readonly #shelf: ArtifactShelf;
  readonly #slots: BuildSlots;
  /** Builds that have not ended. */
  readonly #running = new Set<Promise<void>>();
  /** Size of the last full snapshot by resource: an estimate for the next one. */
  readonly #lastSizes = new Map<string, number>();
  readonly #closing = new AbortController();
  #built = 0;
  #failed = 0;
  #shared = 0;

  /** @throws {PlatformError} DISK_FULL when the directory cannot be made */
  static async open(options: ArtifactStoreOptions): Promise<ArtifactStore> {
    const { directory } = options;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const stale = (await readdir(directory)).filter((name) => FILE_PATTERN.test(name));
      await Promise.all(stale.map((name) => rm(join(directory, name), { force: true })));
    } catch (caught) {
      throw PlatformError.from(caught, 'DISK_FULL', { directory });
    }
    return new ArtifactStore(options);
  }

  private constructor(options: ArtifactStoreOptions) {
    this.#options = {
      source: { missed: async () => null, pauseGroups: async () => undefined, reconcile: async () => undefined },
      trace: NO_TRACE,
      maxAgeMs: 600_000,
      minFreeBytes: 512 * 2 ** 20,
      patienceMs: 3_000,
      unreadMs: 10_000,
      stallMs: 180_000,
      ...options
    };
    const { maxBytes, maxBuilds, patienceMs } = this.#options;
    this.#slots = new BuildSlots({ maxBuilds, patienceMs });
    this.#shelf = new ArtifactShelf({ maxBytes, always: maxBuilds, remove: (artifact) => this.#remove(artifact) });
  }

  /** Finds the artifact that this order would share, if it is there already. Nothing is built. */
  find(order: SnapshotOrder, coding: SnapshotCoding): Artifact | undefined {
    const key = keyOf(order, coding);
    const isFresh = ({ createdAt }: Artifact) => performance.now() - createdAt < this.#options.maxAgeMs;
    return this.#shelf.list().find((artifact) => artifact.key === key && (!artifact.complete || isFresh(artifact)));
  }

  /** Finds the resource's artifact with this entity tag, even if there is a newer one, for a download that is resumed. */
  findTagged(resource: string, etag: string): Artifact | undefined {
    return this.#shelf.list().find((artifact) => artifact.resource === resource && artifact.etag === etag);
  }

  /**
   * Returns the artifact for this order, shared or newly begun; its headers are known when the promise is fulfilled.
   *
   * @param reader the caller, which holds the artifact until it leaves; default: none
   * @throws {PlatformError} SNAPSHOT_BUSY, DISK_FULL, SNAPSHOT_FAILED
   */
  async obtain(order: SnapshotOrder, coding: SnapshotCoding, reader = new Reader('nobody')): Promise<Artifact> {
    const shared = this.find(order, coding);
    if (shared) this.#shared += 1;
    const artifact = shared ?? (await this.#beginOrShare(order, coding, reader));
    reader.enter(artifact);
    this.#shelf.use(artifact);
    return artifact.whenOpened();
  }

  /** Counts since the start; `running`, `bytes` and `oldestBuildMs` are present values. */
  get counts() {
    const [built, failed, shared] = [this.#built, this.#failed, this.#shared];
    const { growing, bytes } = this.#shelf;
    const oldest = Math.min(performance.now(), ...[...growing].map(({ createdAt }) => createdAt));
    return { built, failed, shared, running: growing.size, bytes, oldestBuildMs: performance.now() - oldest };
  }

  /** Ends the builds and waits until their threads are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  async #beginOrShare(order: SnapshotOrder, coding: SnapshotCoding, reader: Reader): Promise<Artifact> {
    const { coordinates, query, behind } = order;
    const server = coordinates.socketPath ?? `${coordinates.host}:${coordinates.port}`;
    const isShort = query.since !== null && behind !== undefined && behind <= SHORT_BLOCKS;
    const begun = () => this.find(order, coding);
    const slot = await this.#slots.take({ server, reader, isShort, isBegun: () => begun() !== undefined });
    try {
      const shared = begun();
      if (shared) {
        if (slot) this.#slots.release(slot);
        return shared;
      }
      if (!slot || this.#closing.signal.aborted || reader.isGone)
        throw new PlatformError('SNAPSHOT_BUSY', { reason: 'the shared snapshot build has ended' });
      if (!this.#shelf.makeRoom(this.#lastSizes.get(resourceOf(order)) ?? 0, reader.address))
        throw new PlatformError('SNAPSHOT_BUSY', {
          reason: 'readers of other snapshots use all of the snapshot space'
        });
      return this.#begin(order, coding, reader, slot);
    } catch (caught) {
      if (slot) this.#slots.release(slot);
      throw caught;
    }
  }

  #begin(order: SnapshotOrder, coding: SnapshotCoding, reader: Reader, slot: Slot): Artifact {
    const buildId = randomBytes(16).toString('hex');
    const stop = new AbortController();
    const giveUp = (reason: string) => {
      stop.abort(new PlatformError('SNAPSHOT_BUSY', { reason, buildId }));
      this.#shelf.fail(artifact); // it is shared no more
      this.#slots.release(slot, running);
    };
    const giveUpUnread = (): boolean => {
      const isUnread = artifact.readers.size === 0 && this.#shelf.growing.has(artifact);
      if (isUnread) giveUp('nobody reads it');
      return isUnread;
    };
    // No reader resumes in the middle of a since-snapshot.
    const isShort = order.query.since !== null;
    const unreadMs = Math.min(this.#options.unreadMs, isShort ? SHORT_UNREAD_MS : Number.POSITIVE_INFINITY);
    const artifact = new Artifact({
      buildId,
      coding,
      path: join(this.#options.directory, `${buildId}.${EXTENSIONS[coding]}`),
      resource: resourceOf(order),
      key: keyOf(order, coding),
      onLeft: ({ leavesAtOnce }) => {
        if (leavesAtOnce) this.#slots.noteLeft(slot);
        setTimeout(giveUpUnread, leavesAtOnce && isShort ? LEFT_UNREAD_MS : unreadMs).unref();
        this.#slots.serve();
      }
    });
    reader.enter(artifact);
    this.#shelf.grow(artifact);
    slot.build = { readers: artifact.readers, giveUp };
    const facts = { database: databaseKey(order.id), build: buildId, coding };
    const built = this.#options.trace.step('snapshot.build', facts, () =>
      this.#build(artifact, order, slot, stop.signal, isShort ? giveUpUnread : () => false)
    );
    const running: Promise<void> = built.finally(() => {
      this.#running.delete(running);
      this.#slots.release(slot);
    });
    this.#running.add(running);
    this.#slots.serve(); // others may wait for the same
    return artifact;
  }

  #build(
    artifact: Artifact,
    order: SnapshotOrder,
    slot: Slot,
    stop: AbortSignal,
    giveUpUnread: () => boolean
  ): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const release = () => this.#slots.release(slot, ended.promise);
    return buildSnapshot(artifact, order, {
      ...this.#options,
      signal: AbortSignal.any([stop, this.#closing.signal]),
      giveUpUnread,
      checkDisk: () => this.#checkDisk(artifact.resource),
      onGrown: () => this.#shelf.makeRoom(0, null),
      onComplete: (sizeBytes) => {
        if (order.query.since === null) this.#lastSizes.set(artifact.resource, sizeBytes);
        this.#shelf.finish(artifact);
        this.#shelf.makeRoom(0, null);
        this.#built += 1;
        release();
      },
      onFailed: async (error) => {
        if (error.code !== 'SNAPSHOT_BUSY') this.#failed += 1;
        await this.#remove(artifact);
        this.#shelf.fail(artifact);
        release();
      },
      onUnsettled: () => this.#shelf.drop(artifact)
    }).finally(() => ended.resolve());
  }

  async #checkDisk(resource: string): Promise<void> {
    const { directory, minFreeBytes } = this.#options;
    const { bavail, bsize } = await statfs(directory);
    const neededBytes = Math.max(minFreeBytes, this.#lastSizes.get(resource) ?? 0);
    if (bavail * bsize < neededBytes)
      throw new PlatformError('DISK_FULL', { reason: 'not enough free disk for a snapshot', directory, neededBytes });
  }

  async #remove({ path }: Artifact): Promise<void> {
    await rm(path, { force: true }).catch((caught) =>
      this.#options.log.warn({ err: caught, path }, 'the file of a snapshot could not be removed')
    );
  }
}

/** Returns a text for database and query, whichever block they are answered at. */
export function resourceOf({ id, query }: Pick<SnapshotOrder, 'id' | 'query'>): string {
  return `${databaseKey(id)} ${JSON.stringify(query)}`;
}

const keyOf = (order: SnapshotOrder, coding: SnapshotCoding): string => `${resourceOf(order)} ${order.key} ${coding}`;
