import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { MessageChannel, type Transferable } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { SnapshotOrder } from '../../actors/protocol.ts';
import type { Standing } from '../db/standing.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { NO_TRACE, type Trace } from '../trace.ts';
import { databaseKey } from '../wire/database.ts';
import type { SnapshotCoding } from '../wire/snapshot.ts';
import { Artifact } from './artifact.ts';
import type { BuildInput, BuildProgress, BuildResult, WrittenBody } from './build-messages.ts';

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

/** What a snapshot's source does for those who go on from it with the next group. */
export interface SnapshotSource {
  /** Waited for before a body ends: no group begins before `note`. */
  hold(order: SnapshotOrder, buildId: string, height: number): Promise<unknown>;
  /** Tells it the state that readers stand on; null when that could not be read. */
  note(order: SnapshotOrder, buildId: string, standing: Standing | null): Promise<unknown>;
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
  /** The source's side of builds; without it nobody goes on from a snapshot. */
  readonly source?: SnapshotSource;
  /** Default: nobody looks. */
  readonly trace?: Trace;
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
  /** Bodies that are not complete, with the database server that each is read from. */
  readonly #builds = new Map<Artifact, string>();
  /** Builds that have not ended. */
  readonly #running = new Set<Promise<void>>();
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
      source: { hold: async () => undefined, note: async () => undefined },
      trace: NO_TRACE,
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
    const isFresh = ({ createdAt }: Artifact) => performance.now() - createdAt < this.#options.maxAgeMs;
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
    const oldest = Math.min(performance.now(), ...[...this.#builds.keys()].map(({ createdAt }) => createdAt));
    const now = {
      running: this.#builds.size,
      bytes: this.#finished.calculatedSize,
      oldestBuildMs: performance.now() - oldest
    };
    return { built, failed, shared, ...now };
  }

  /** Ends the builds and waits until their threads are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  #list(): Artifact[] {
    return [...this.#builds.keys(), ...this.#finished.values()];
  }

  #begin(order: SnapshotOrder, coding: SnapshotCoding): Artifact {
    const { coordinates } = order;
    const server = coordinates.socketPath ?? `${coordinates.host}:${coordinates.port}`;
    const onServer = [...this.#builds.values()].filter((each) => each === server).length;
    const { maxBuilds } = this.#options;
    if (
      this.#closing.signal.aborted ||
      this.#builds.size >= maxBuilds ||
      this.#running.size >= 2 * maxBuilds ||
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
    this.#builds.set(artifact, server);
    const facts = { database: databaseKey(order.id), build: buildId, coding };
    const built = this.#options.trace.step('snapshot.build', facts, () => this.#build(artifact, order));
    const running = built.finally(() => this.#running.delete(running));
    this.#running.add(running);
    return artifact;
  }

  /** The body ends before the state that its readers stand on is known; the build ends after that. */
  async #build(artifact: Artifact, order: SnapshotOrder): Promise<void> {
    const { buildId, coding, resource } = artifact;
    const log = this.#options.log.child({ database: databaseKey(order.id), build: buildId, coding });
    const startedAt = performance.now();
    const end = async ({ sizeBytes, settledAt }: WrittenBody): Promise<void> => {
      if (settledAt !== null) await this.#tell(order, (source) => source.hold(order, buildId, settledAt));
      artifact.finish(sizeBytes);
      if (order.query.since === null) this.#lastSizes.set(resource, sizeBytes);
      this.#builds.delete(artifact);
      this.#finished.set(buildId, artifact);
      this.#built += 1;
      log.info({ sizeBytes, ms: Math.round(performance.now() - startedAt) }, 'snapshot built');
    };
    let ended: Promise<void> | undefined;
    let standing: Standing | null = null;
    try {
      await this.#checkDisk(resource);
      const result = await this.#runTask(artifact, order, (written) => {
        ended = end(written);
      });
      ended ??= end(result.written);
      standing = result.standing;
    } catch (caught) {
      const error = PlatformError.from(caught, 'SNAPSHOT_FAILED');
      log.error({ err: error }, 'snapshot build failed');
      if (!ended) {
        this.#failed += 1;
        await this.#remove(artifact);
        this.#builds.delete(artifact);
        artifact.fail(error);
        return;
      }
      void ended.then(() => this.#finished.delete(buildId)); // nobody else is to go on from it
    }
    await ended;
    await this.#tell(order, (source) => source.note(order, buildId, standing));
  }

  async #runTask(
    artifact: Artifact,
    order: SnapshotOrder,
    onWritten: (written: WrittenBody) => void
  ): Promise<BuildResult> {
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
      else if (progress.type === 'grew') artifact.grew(progress.sizeBytes);
      else onWritten(progress);
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
  async #tell({ id }: SnapshotOrder, what: (source: SnapshotSource) => Promise<unknown>): Promise<void> {
    await what(this.#options.source).catch((caught: unknown) =>
      this.#options.log.warn({ err: caught, database: databaseKey(id) }, 'a source took no note of a snapshot')
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
