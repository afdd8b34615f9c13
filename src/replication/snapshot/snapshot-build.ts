import { MessageChannel, type Transferable } from 'node:worker_threads';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { databaseKey } from '../../wire/data/database.ts';
import type { MissedChanges, SnapshotOrder } from '../../wire/data/snapshot.ts';
import type { SnapshotChecksums } from '../source/reading/snapshot-checksums.ts';
import type { Artifact } from './artifact.ts';
import type {
  BuildInput,
  BuildOrder,
  BuildProgress,
  BuildResult,
  SnapshotHead,
  WrittenBody
} from './build-messages.ts';

/** Time for a build to end by itself. */
const STOP_PATIENCE_MS = 250;

/** Runs the task of a build. @throws the task's error; an aborted signal ends the task's thread, if it did not end when it was told to */
export type RunBuild = (
  input: BuildInput,
  options: { readonly transfer: readonly Transferable[]; readonly signal: AbortSignal }
) => Promise<BuildResult>;

/** The source's part in a snapshot whose readers continue with the next group. */
export interface SnapshotSource {
  /** The older rows that the order's reader has missed up to a block; null: not known. */
  missed(order: SnapshotOrder, head: SnapshotHead): Promise<MissedChanges | null>;
  /** Waited for before a body ends: no group begins before `note`. */
  pauseGroups(order: SnapshotOrder, buildId: string, height: number): Promise<unknown>;
  /** Reports the state that readers now have; null when it could not be read. */
  reconcile(order: SnapshotOrder, buildId: string, checksums: SnapshotChecksums | null): Promise<unknown>;
}

interface SnapshotBuildOptions {
  readonly runBuild: RunBuild;
  readonly log: Logger;
  readonly source: SnapshotSource;
  readonly stallMs: number;
  readonly budgetMs: number;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Asked when the body is written: groups need not wait for a snapshot that no reader continues from. */
  readonly giveUpUnread: () => boolean;
  /** @throws {PlatformError} DISK_FULL */
  readonly checkDisk: () => Promise<void>;
  readonly onGrown: () => void;
  /** The body is complete. */
  readonly onComplete: (sizeBytes: number) => void;
  /** Called when there will be no body; when its promise is fulfilled, the readers know. */
  readonly onFailed: (error: PlatformError) => Promise<void>;
  /** The body is complete, but gets no further readers. */
  readonly onUnsettled: () => void;
}

/**
 * Builds one artifact on the task pool. The body ends before the state that its readers stand on is known; the build ends after that,
 * and never with an error.
 */
export async function buildSnapshot(
  artifact: Artifact,
  order: SnapshotOrder,
  options: SnapshotBuildOptions
): Promise<void> {
  const { buildId, coding } = artifact;
  const log = options.log.child({ database: databaseKey(order.id), build: buildId, coding });
  const startedAt = performance.now();
  const tell = (what: (source: SnapshotSource) => Promise<unknown>) => awaitRegistration(what(options.source), log);
  const end = async ({ sizeBytes, settledAt }: WrittenBody): Promise<void> => {
    if (settledAt !== null) await tell((source) => source.pauseGroups(order, buildId, settledAt));
    artifact.finish(sizeBytes);
    options.onComplete(sizeBytes);
    log.info({ sizeBytes, ms: Math.round(performance.now() - startedAt) }, 'snapshot built');
  };
  let ended: Promise<void> | undefined;
  let checksums: SnapshotChecksums | null = null;
  try {
    await options.checkDisk();
    const result = await runTask(artifact, order, options, (written) => {
      if (!options.giveUpUnread()) ended = end(written);
    });
    ended ??= end(result.written);
    checksums = result.checksums;
  } catch (caught) {
    const error = PlatformError.from(caught, 'SNAPSHOT_FAILED');
    if (hasCode(error, 'SNAPSHOT_BUSY')) log.info(`snapshot build cancelled: ${error.detail['reason']}`);
    else log.error({ err: error }, 'a snapshot could not be built; the next request builds it anew');
    if (!ended) {
      await options.onFailed(error);
      artifact.fail(error);
      return;
    }
    void ended.then(() => options.onUnsettled());
  }
  await ended;
  await tell((source) => source.reconcile(order, buildId, checksums));
}

async function runTask(
  artifact: Artifact,
  order: SnapshotOrder,
  { runBuild, log, source, stallMs, budgetMs, signal, onGrown }: SnapshotBuildOptions,
  onWritten: (written: WrittenBody) => void
): Promise<BuildResult> {
  const { buildId, coding, path } = artifact;
  const stop = new AbortController();
  const stopWith = (reason: string) => stop.abort(new PlatformError('SNAPSHOT_FAILED', { reason, buildId }));
  const watchdog = setTimeout(() => stopWith(`no progress for ${stallMs} ms`), stallMs);
  const budget = setTimeout(
    () => stopWith(`longer than its budget of ${budgetMs} ms: raise SNAPSHOT_BUILD_BUDGET_MS or read from a replica`),
    budgetMs
  );
  const stopped = AbortSignal.any([stop.signal, signal]);
  const { port1: here, port2: there } = new MessageChannel();
  const say = (what: BuildOrder) => here.postMessage(what);
  const answer = async (head: SnapshotHead) => {
    const missed = await source.missed(order, head).catch((caught: unknown) => {
      log.warn(
        { err: caught },
        'the source actor did not answer what changed in older blocks; the client compares its newest blocks'
      );
      return null;
    });
    say({ type: 'missed', missed });
  };
  here.on('message', (progress: BuildProgress) => {
    watchdog.refresh();
    if (progress.type === 'asks') void answer(progress.head);
    else if (progress.type === 'opened') artifact.opened(progress.headers);
    else if (progress.type === 'grew') {
      artifact.grew(progress.sizeBytes);
      onGrown();
    } else if (!stopped.aborted) onWritten(progress);
  });
  const late = new AbortController();
  let patience: NodeJS.Timeout | undefined;
  const onStopped = () => {
    say({ type: 'stop' });
    patience = setTimeout(() => late.abort(stopped.reason), STOP_PATIENCE_MS);
  };
  stopped.addEventListener('abort', onStopped, { once: true });
  try {
    stopped.throwIfAborted();
    const input: BuildInput = { order, coding, path, buildId, budgetMs, progress: there };
    const result = await runBuild(input, { transfer: [there], signal: late.signal });
    stopped.throwIfAborted();
    return result;
  } catch (caught) {
    stopped.throwIfAborted();
    throw caught;
  } finally {
    for (const timer of [watchdog, budget, patience]) clearTimeout(timer);
    stopped.removeEventListener('abort', onStopped);
    here.close();
  }
}

/**
 * Waits until the source has registered the readers. If it cannot, the snapshot is still served: a comparison of
 * digests finds what a reader misses.
 */
async function awaitRegistration(word: Promise<unknown>, log: Logger): Promise<void> {
  await word.catch((caught: unknown) =>
    log.warn({ err: caught }, "the source actor did not register the snapshot's readers")
  );
}
