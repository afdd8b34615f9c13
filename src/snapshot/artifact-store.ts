import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { MessageChannel, type Transferable } from 'node:worker_threads';
import type { SnapshotOrder } from '../../actors/protocol.ts';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { databaseKey } from '../wire/database.ts';
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
  /** Idle artifacts above this go, the longest unused first. */
  readonly maxBytes: number;
  /** Builds at once in this process; beyond them SNAPSHOT_BUSY. */
  readonly maxBuilds: number;
  readonly tasks: TaskRunner;
  readonly log: Logger;
  /** An older artifact is shared no more. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Free disk below this refuses a build. Default 512 MiB. */
  readonly minFreeBytes?: number;
  /** A build without a sign of progress for so long has failed. Default 3 minutes. */
  readonly stallMs?: number;
}

const FILE_PATTERN = /^[0-9a-f]{32}\.json\.gz$/;
const MAX_BUILDS_PER_SERVER = 2;

/**
 * Snapshot files, built once and shared by everyone who asks for the same.
 *
 * At most one build per order key runs; an artifact that is being built or read is never evicted; a failed one is gone.
 */
export class ArtifactStore {
  readonly #options: Required<ArtifactStoreOptions>;
  /** By build id, the longest unused first. */
  readonly #artifacts = new Map<string, Artifact>();
  readonly #builds = new Map<Artifact, { readonly server: string; readonly done: Promise<void> }>();
  /** Size of the last full snapshot by resource: what the next one will need. */
  readonly #lastSizes = new Map<string, number>();
  readonly #closing = new AbortController();

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
    this.#options = { maxAgeMs: 600_000, minFreeBytes: 512 * 2 ** 20, stallMs: 180_000, ...options };
  }

  /** The artifact that this order would share, if it is there already. Nothing is built. */
  find(order: SnapshotOrder): Artifact | undefined {
    const key = keyOf(order);
    return [...this.#artifacts.values()].find(
      (artifact) =>
        artifact.key === key && (this.#builds.has(artifact) || Date.now() - artifact.createdAt < this.#options.maxAgeMs)
    );
  }

  /** A download that goes on: the artifact of this resource with this entity tag, also when a newer one is there. */
  findTagged(resource: string, etag: string): Artifact | undefined {
    return [...this.#artifacts.values()].find((artifact) => artifact.resource === resource && artifact.etag === etag);
  }

  /**
   * The artifact for this order, shared or newly begun; its headers are known when the promise is fulfilled.
   *
   * @throws {PlatformError} SNAPSHOT_BUSY, DISK_FULL, SNAPSHOT_FAILED
   */
  async obtain(order: SnapshotOrder): Promise<Artifact> {
    const artifact = this.find(order) ?? this.#begin(order);
    this.#artifacts.delete(artifact.buildId);
    this.#artifacts.set(artifact.buildId, artifact);
    return artifact.whenOpened();
  }

  /** Ends the builds and waits until their threads are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#builds.values()].map(({ done }) => done));
  }

  #begin(order: SnapshotOrder): Artifact {
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
      path: join(this.#options.directory, `${buildId}.json.gz`),
      resource: resourceOf(order),
      key: keyOf(order),
      onIdle: () => this.#evict()
    });
    this.#artifacts.set(buildId, artifact);
    this.#builds.set(artifact, { server, done: this.#build(artifact, order) });
    return artifact;
  }

  async #build(artifact: Artifact, order: SnapshotOrder): Promise<void> {
    const log = this.#options.log.child({ database: databaseKey(order.id), build: artifact.buildId });
    const startedAt = performance.now();
    try {
      await this.#checkDisk(artifact.resource);
      const { headers, sizeBytes } = await this.#runTask(artifact, order);
      artifact.opened(headers);
      artifact.finish(sizeBytes);
      if (order.query.since === null) this.#lastSizes.set(artifact.resource, sizeBytes);
      log.info({ sizeBytes, ms: Math.round(performance.now() - startedAt) }, 'snapshot built');
    } catch (caught) {
      const error = PlatformError.from(caught, 'SNAPSHOT_FAILED');
      log.error({ err: error }, 'snapshot build failed');
      await this.#remove(artifact);
      artifact.fail(error);
    } finally {
      this.#builds.delete(artifact);
      this.#evict();
    }
  }

  async #runTask(artifact: Artifact, order: SnapshotOrder): Promise<BuildResult> {
    const { tasks, stallMs } = this.#options;
    const stalled = new AbortController();
    const watchdog = setTimeout(() => stalled.abort(new Error(`no progress for ${stallMs} ms`)), stallMs);
    const { port1: here, port2: there } = new MessageChannel();
    here.on('message', (progress: BuildProgress) => {
      watchdog.refresh();
      if (progress.type === 'opened') artifact.opened(progress.headers);
      else artifact.grew(progress.sizeBytes);
    });
    const signal = AbortSignal.any([stalled.signal, this.#closing.signal]);
    try {
      const input: BuildInput = { order, path: artifact.path, buildId: artifact.buildId, progress: there };
      return (await tasks.run('build-snapshot', input, { transfer: [there], signal })) as BuildResult;
    } finally {
      clearTimeout(watchdog);
      here.close();
    }
  }

  async #checkDisk(resource: string): Promise<void> {
    const { directory, minFreeBytes } = this.#options;
    const { bavail, bsize } = await statfs(directory);
    const neededBytes = Math.max(minFreeBytes, this.#lastSizes.get(resource) ?? 0);
    if (bavail * bsize < neededBytes)
      throw new PlatformError('DISK_FULL', { reason: 'not enough free disk for a snapshot', directory, neededBytes });
  }

  /** Idle artifacts go, the longest unused first; the newest stays, so that a large one can be shared at all. */
  #evict(): void {
    const idle = [...this.#artifacts.values()].filter((artifact) => !artifact.inUse).slice(0, -1);
    let total = [...this.#artifacts.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (const artifact of idle) {
      if (total <= this.#options.maxBytes) return;
      total -= artifact.sizeBytes;
      void this.#remove(artifact);
    }
  }

  async #remove(artifact: Artifact): Promise<void> {
    this.#artifacts.delete(artifact.buildId);
    await rm(artifact.path, { force: true }).catch((caught) =>
      this.#options.log.warn({ err: caught, path: artifact.path }, 'artifact could not be removed')
    );
  }
}

/** Database and query, whichever block they were answered at. */
export function resourceOf({ id, query }: Pick<SnapshotOrder, 'id' | 'query'>): string {
  return `${databaseKey(id)} ${JSON.stringify(query)}`;
}

const keyOf = (order: SnapshotOrder): string => `${resourceOf(order)} ${order.key}`;
