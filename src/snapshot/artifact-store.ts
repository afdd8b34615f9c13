import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { MessageChannel, type Transferable } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { SnapshotOrder } from '../../actors/protocol.ts';
import type { Standing } from '../db/standing.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { databaseKey } from '../wire/database.ts';
import type { SnapshotCoding } from '../wire/snapshot.ts';
import { Artifact } from './artifact.ts';
import type { BuildInput, BuildProgress, BuildResult } from './build-messages.ts';

export { Artifact, type ArtifactHeaders } from './artifact.ts';

/** The part of the task pool that builds need. */
export interface TaskRunner {
  /** @throws whatever the task threw; an aborted signal ends the task's thread */
  run(
    name: string,
    input: unknown,
    options?: { readonly transfer?: readonly Transferable[]; readonly signal?: AbortSignal }
  ): Promise<unknown>;
}

export interface ArtifactStoreOptions {
  /** Made private (0700); artifacts of an earlier process in it are removed. */
  readonly directory: string;
  /** Finished artifacts above this go, the longest unused first. */
  readonly maxBytes: number;
  /** Builds at once in this process; beyond them SNAPSHOT_BUSY. */
  readonly maxBuilds: number;
  /** A build that takes longer has failed: its read holds back the purge of the database it reads. */
  readonly budgetMs: number;
  readonly tasks: TaskRunner;
  readonly log: Logger;
  /** Waited for before a snapshot ends: its source takes note of the state that readers will stand on. */
  readonly settle?: (order: SnapshotOrder, standing: Standing) => Promise<unknown>;
  /** An older artifact is shared no more. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Free disk below this refuses a build. Default 512 MiB. */
  readonly minFreeBytes?: number;
  /** A build without a sign of progress for so long has failed. Default 3 minutes. */
  readonly stallMs?: number;
}

const EXTENSIONS: Readonly<Record<SnapshotCoding, string>> = { gzip: 'json.gz', zstd: 'json.zst' };
const FILE_PATTERN = /^[0-9a-f]{32}\.json\.(gz|zst)$/;
const MAX_BUILDS_PER_SERVER = 2;

/**
 * Snapshot files, built once and shared by everyone who asks for the same in the same coding.
 *
 * At most one build per order and coding runs; an artifact that is being built or read keeps its file; a failed one is gone.
 */
export class ArtifactStore {
  readonly #options: Required<ArtifactStoreOptions>;
  readonly #builds = new Map<Artifact, { readonly server: string; readonly done: Promise<void> }>();
  /** By build id. The newest stays however large it is, so that it can be shared at all. */
  readonly #finished: LRUCache<string, Artifact>;
  /** Size of the last full snapshot by resource: what the next one will need. */
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
      await chmod(directory, 0o700);
      const stale = (await readdir(directory)).filter((name) => FILE_PATTERN.test(name));
      await Promise.all(stale.map((name) => rm(join(directory, name), { force: true })));
    } catch (caught) {
      throw PlatformError.from(caught, 'DISK_FULL', { directory });
    }
    return new ArtifactStore(options);
  }

  private constructor(options: ArtifactStoreOptions) {
    this.#options = {
      settle: async () => undefined,
      maxAgeMs: 600_000,
      minFreeBytes: 512 * 2 ** 20,
      stallMs: 180_000,
      ...options
    };
    const { maxBytes } = options;
    this.#finished = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ sizeBytes }) => Math.min(sizeBytes, maxBytes),
      dispose: (artifact) => void artifact.whenIdle().then(() => this.#remove(artifact))
    });
  }

  /** The artifact that this order would share, if it is there already. Nothing is built. */
  find(order: SnapshotOrder, coding: SnapshotCoding): Artifact | undefined {
    const key = keyOf(order, coding);
    const isFresh = ({ createdAt }: Artifact) => Date.now() - createdAt < this.#options.maxAgeMs;
    return this.#list().find((artifact) => artifact.key === key && (this.#builds.has(artifact) || isFresh(artifact)));
  }

  /** A download that goes on: the artifact of this resource with this entity tag, also when a newer one is there. */
  findTagged(resource: string, etag: string): Artifact | undefined {
    return this.#list().find((artifact) => artifact.resource === resource && artifact.etag === etag);
  }

  /**
   * The artifact for this order, shared or newly begun; its headers are known when the promise is fulfilled.
   *
   * @throws {PlatformError} SNAPSHOT_BUSY, DISK_FULL, SNAPSHOT_FAILED
   */
  async obtain(order: SnapshotOrder, coding: SnapshotCoding): Promise<Artifact> {
    const shared = this.find(order, coding);
    if (shared) this.#shared += 1;
    const artifact = shared ?? this.#begin(order, coding);
    this.#finished.get(artifact.buildId); // used now
    return artifact.whenOpened();
  }

  /** Since the start, but `running`, `bytes` and `oldestBuildMs`: what there is now. */
  get figures() {
    const [built, failed, shared] = [this.#built, this.#failed, this.#shared];
    const oldest = Math.min(Date.now(), ...[...this.#builds.keys()].map(({ createdAt }) => createdAt));
    const now = {
      running: this.#builds.size,
      bytes: this.#finished.calculatedSize,
      oldestBuildMs: Date.now() - oldest
    };
    return { built, failed, shared, ...now };
  }

  /** Ends the builds and waits until their threads are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#builds.values()].map(({ done }) => done));
  }

  #list(): Artifact[] {
    return [...this.#builds.keys(), ...this.#finished.values()];
  }

  #begin(order: SnapshotOrder, coding: SnapshotCoding): Artifact {
    const { coordinates } = order;
    const server = coordinates.socketPath ?? `${coordinates.host}:${coordinates.port}`;
    const onServer = [...this.#builds.values()].filter((build) => build.server === server).length;
    if (
      this.#closing.signal.aborted ||
      this.#builds.size >= this.#options.maxBuilds ||
      onServer >= MAX_BUILDS_PER_SERVER
    )
      throw new PlatformError('SNAPSHOT_BUSY', { reason: `${this.#builds.size} snapshot builds are running` });
    const buildId = randomBytes(16).toString('hex');
    const artifact = new Artifact({
      buildId,
      coding,
      path: join(this.#options.directory, `${buildId}.${EXTENSIONS[coding]}`),
      resource: resourceOf(order),
      key: keyOf(order, coding)
    });
    this.#builds.set(artifact, { server, done: this.#build(artifact, order) });
    return artifact;
  }

  async #build(artifact: Artifact, order: SnapshotOrder): Promise<void> {
    const { buildId, coding, resource } = artifact;
    const log = this.#options.log.child({ database: databaseKey(order.id), build: buildId, coding });
    const startedAt = performance.now();
    try {
      await this.#checkDisk(resource);
      const { headers, sizeBytes, standing } = await this.#runTask(artifact, order);
      artifact.opened(headers);
      if (standing) await this.#settle(order, standing);
      artifact.finish(sizeBytes);
      if (order.query.since === null) this.#lastSizes.set(resource, sizeBytes);
      this.#builds.delete(artifact);
      this.#finished.set(buildId, artifact);
      this.#built += 1;
      log.info({ sizeBytes, ms: Math.round(performance.now() - startedAt) }, 'snapshot built');
    } catch (caught) {
      const error = PlatformError.from(caught, 'SNAPSHOT_FAILED');
      this.#failed += 1;
      log.error({ err: error }, 'snapshot build failed');
      await this.#remove(artifact);
      this.#builds.delete(artifact);
      artifact.fail(error);
    }
  }

  async #runTask(artifact: Artifact, order: SnapshotOrder): Promise<BuildResult> {
    const { tasks, stallMs, budgetMs } = this.#options;
    const { buildId, coding, path } = artifact;
    const stop = new AbortController();
    const stopWith = (reason: string) => stop.abort(new PlatformError('SNAPSHOT_FAILED', { reason, buildId }));
    const watchdog = setTimeout(() => stopWith(`no progress for ${stallMs} ms`), stallMs);
    const budget = setTimeout(
      () => stopWith(`longer than its budget of ${budgetMs} ms: raise SNAPSHOT_BUILD_BUDGET_MS or read from a replica`),
      budgetMs
    );
    const { port1: here, port2: there } = new MessageChannel();
    here.on('message', (progress: BuildProgress) => {
      watchdog.refresh();
      if (progress.type === 'opened') artifact.opened(progress.headers);
      else artifact.grew(progress.sizeBytes);
    });
    const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
    try {
      const input: BuildInput = { order, coding, path, buildId, budgetMs, progress: there };
      return (await tasks.run('build-snapshot', input, { transfer: [there], signal })) as BuildResult;
    } finally {
      clearTimeout(watchdog);
      clearTimeout(budget);
      here.close();
    }
  }

  /** A source that cannot take note is no reason to refuse: a comparison of digests finds what a reader misses then. */
  async #settle(order: SnapshotOrder, standing: Standing): Promise<void> {
    const { settle, log } = this.#options;
    await settle(order, standing).catch((caught: unknown) =>
      log.warn({ err: caught, database: databaseKey(order.id) }, 'a snapshot ends before its source took note of it')
    );
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
      this.#options.log.warn({ err: caught, path }, 'artifact could not be removed')
    );
  }
}

/** Database and query, whichever block they were answered at. */
export function resourceOf({ id, query }: Pick<SnapshotOrder, 'id' | 'query'>): string {
  return `${databaseKey(id)} ${JSON.stringify(query)}`;
}

const keyOf = (order: SnapshotOrder, coding: SnapshotCoding): string => `${resourceOf(order)} ${order.key} ${coding}`;
