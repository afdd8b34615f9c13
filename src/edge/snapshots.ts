import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { Artifact } from '../replication/snapshot/artifact.ts';
import type { Nats, NatsLink } from '../sync/relay/link.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';
import type { SnapshotCoding } from '../wire/data/snapshot.ts';
import type { StoredSnapshot } from '../wire/data/stored-snapshot.ts';
import { type CacheDirectory, openCacheDirectory } from './cache-directory.ts';
import { CachedFiles } from './cached-files.ts';
import { bytesOf } from './stored-object.ts';

/** After so many milliseconds a snapshot that could not be fetched is tried again. */
const RETRY_MS = 60_000;
const ETAG = /^"([0-9a-f]{32})-(gzip|zstd)"$/;

interface SnapshotsOptions {
  readonly link: NatsLink;
  /** Directory of the files; absent: one below the system's temporary directory. */
  readonly directory: string | undefined;
  /** Bytes of all files together. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/** One database's snapshots: those that its origin lists, and those that are here. */
interface Shelf {
  listed: readonly StoredSnapshot[];
  /** Grows when a fork made some invalid: a list that was asked for before is not taken. */
  epoch: number;
  /** By object. */
  readonly files: Map<string, Artifact>;
  /** Time by `performance.now()` at which an object could not be fetched. */
  readonly failed: Map<string, number>;
}

/** Full snapshots of the object store, byte for byte: each is fetched once, when it is first asked for, and kept as a file. */
export class EdgeSnapshots {
  readonly #options: SnapshotsOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #fetching = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #directory: CacheDirectory;
  readonly #cached: CachedFiles;
  #fetched = 0;

  private constructor(options: SnapshotsOptions, directory: CacheDirectory) {
    this.#options = options;
    this.#directory = directory;
    this.#cached = new CachedFiles(options.maxBytes);
  }

  /** @throws {PlatformError} DISK_FULL when the directory cannot be made; STATE_UNUSABLE when it cannot be locked */
  static async open(options: SnapshotsOptions): Promise<EdgeSnapshots> {
    const { directory = tmpdir(), log } = options;
    try {
      return new EdgeSnapshots(options, await openCacheDirectory(directory, log));
    } catch (caught) {
      throw PlatformError.from(caught, 'DISK_FULL', { directory });
    }
  }

  /** Bytes of the files, those that are being fetched as a whole. */
  get bytes(): number {
    return this.#cached.bytes;
  }

  /** Returns a mark to hand to `list`. Take it before you ask for the list. */
  epoch(id: DatabaseId): number {
    return this.#shelf(id).epoch;
  }

  /** Takes the origin's list, unless some became invalid since it was asked for. */
  list(id: DatabaseId, listed: readonly StoredSnapshot[], epoch: number): void {
    const shelf = this.#shelf(id);
    if (epoch !== shelf.epoch) return;
    shelf.listed = listed;
    this.#tidy(shelf);
  }

  /** Gives no more of the snapshots of blocks from this height on. */
  invalidate(id: DatabaseId, fork: number): void {
    const shelf = this.#shelf(id);
    shelf.epoch += 1;
    shelf.listed = shelf.listed.filter(({ height }) => height < fork);
    this.#tidy(shelf);
  }

  /**
   * Finds the newest snapshot up to a block, or the one of a download that is resumed.
   *
   * @param tag entity tag of the download; undefined: none is resumed
   * @param isOnChain returns whether a snapshot may be of the chain that is served
   * @returns null when there is none, no room for it, or it could not be fetched lately; else its bytes come as they are fetched
   */
  find(
    id: DatabaseId,
    coding: SnapshotCoding,
    upTo: number,
    tag?: string,
    isOnChain: (snapshot: StoredSnapshot) => boolean = () => true
  ): Artifact | null {
    const shelf = this.#shelf(id);
    const failedAt = ({ object }: StoredSnapshot) => shelf.failed.get(object) ?? Number.NEGATIVE_INFINITY;
    const all = shelf.listed.filter(
      (each) =>
        each.coding === coding &&
        each.height <= upTo &&
        performance.now() - failedAt(each) >= RETRY_MS &&
        isOnChain(each)
    );
    const found = tag === undefined ? all[0] : all.find(({ etag }) => etag === tag);
    if (!found) return null;
    const known = shelf.files.get(found.object);
    if (!known) return this.#fetch(id, shelf, found);
    this.#cached.use(known);
    return known;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#fetching);
    await this.#directory.release();
  }

  #shelf(id: DatabaseId): Shelf {
    const shelf = this.#shelves.get(databaseKey(id)) ?? {
      listed: [],
      epoch: 0,
      files: new Map(),
      failed: new Map()
    };
    this.#shelves.set(databaseKey(id), shelf);
    return shelf;
  }

  /** Begins to fetch a snapshot; null while NATS is away, where its tag is none of an origin's, and where it has no room. */
  #fetch(id: DatabaseId, shelf: Shelf, stored: StoredSnapshot): Artifact | null {
    const [, buildId, coding] = ETAG.exec(stored.etag) ?? [];
    const nats = this.#options.link.current;
    if (buildId === undefined || coding !== stored.coding || !nats) return null;
    if (!this.#cached.makeRoom(stored.sizeBytes, (artifact) => this.#giveUp(artifact))) return null;
    // One that gave way may be fetched again before its file is gone.
    const path = join(this.#directory.path, `${buildId}-${this.#fetched++}.${coding}`);
    const resource = databaseKey(id);
    const artifact = new Artifact({ buildId, coding: stored.coding, path, resource, key: stored.object });
    shelf.files.set(stored.object, artifact);
    this.#cached.add(artifact, stored.sizeBytes);
    const fetching = this.#download(nats, stored, artifact)
      .catch(async (caught) => {
        shelf.files.delete(stored.object);
        shelf.failed.set(stored.object, performance.now()); // who asks next gets another one, or asks the origin
        this.#options.log.warn(
          { err: caught, database: resource },
          'a snapshot could not be fetched from NATS; it is tried again after a minute'
        );
        artifact.fail(PlatformError.from(caught, 'SNAPSHOT_FAILED'));
        await rm(path, { force: true });
        this.#cached.remove(artifact);
      })
      .finally(() => this.#fetching.delete(fetching));
    this.#fetching.add(fetching);
    return artifact;
  }

  async #download(nats: Nats, stored: StoredSnapshot, artifact: Artifact): Promise<void> {
    const { bucket, object, headers, sizeBytes, sha256 } = stored;
    const file = await open(artifact.path, 'wx', 0o600);
    try {
      const found = await (await nats.objects.open(bucket)).get(object);
      if (!found) throw new PlatformError('STREAM_BODY_DIFFERS', { reason: `the snapshot ${object} is not stored` });
      artifact.opened(headers);
      const digest = createHash('sha256');
      let written = 0;
      for await (const bytes of bytesOf(found, AbortSignal.any([this.#stopping.signal, nats.lost]))) {
        written += bytes.length;
        if (written > sizeBytes) break;
        await file.writeFile(bytes);
        digest.update(bytes);
        if (written < sizeBytes) artifact.grew(written); // its last bytes come when it is known to be what was stored
      }
      if (written !== sizeBytes || digest.digest('hex') !== sha256)
        throw new PlatformError('STREAM_BODY_DIFFERS', {
          reason: `the snapshot ${object} is not what its origin stored`
        });
      artifact.finish(sizeBytes);
    } finally {
      await file.close();
    }
  }

  /** Removes files that are listed no more, when nobody reads them. */
  #tidy(shelf: Shelf): void {
    const isListed = (object: string) => shelf.listed.some((each) => each.object === object);
    for (const object of shelf.failed.keys()) if (!isListed(object)) shelf.failed.delete(object);
    for (const [object, artifact] of shelf.files) if (!isListed(object)) void this.#remove(shelf, object, artifact);
  }

  /** Removes a file that nobody reads, for another one. */
  #giveUp(artifact: Artifact): void {
    for (const shelf of this.#shelves.values())
      for (const [object, each] of shelf.files) if (each === artifact) void this.#remove(shelf, object, artifact);
  }

  async #remove(shelf: Shelf, object: string, artifact: Artifact): Promise<void> {
    shelf.files.delete(object);
    await artifact.whenIdle();
    await rm(artifact.path, { force: true });
    this.#cached.remove(artifact);
  }
}
