import { type FileHandle, open } from 'node:fs/promises';
import type { MessagePort } from 'node:worker_threads';
import { type Connection, connect, databaseError, isDriverError } from '../../src/db/connection.ts';
import type { TableRead } from '../../src/db/row-stream.ts';
import { streamRowBytes, type TakeRowBytes } from '../../src/db/row-stream.ts';
import { PlatformError } from '../../src/errors.ts';
import type {
  BuildInput,
  BuildOrder,
  BuildProgress,
  BuildResult
} from '../../src/replication/snapshot/build-messages.ts';
import { openCompressor } from '../../src/replication/snapshot/coding/coding.ts';
import { snapshotHeaders } from '../../src/replication/snapshot/snapshot-headers.ts';
import { type TableSource, writeSnapshot } from '../../src/replication/snapshot/snapshot-writer.ts';
import { readSnapshotChecksums } from '../../src/replication/source/reading/snapshot-checksums.ts';
import { planSnapshot, type SnapshotPlan } from '../../src/replication/source/reading/snapshot-plan.ts';
import { SCHEMA_VERSION } from '../../src/wire/data/database.ts';
import type { MissedChanges } from '../../src/wire/data/snapshot.ts';

/** A read that yields no row and no byte for this long is ended. */
const PROGRESS_TIMEOUT_MS = 120_000;
const PROGRESS_CHECK_MS = 10_000;
/** Time for MariaDB to wait: for slow compression, for a lock on a table that another holds, for a process that is gone. */
const PATIENCE_S = 600;
const PATIENT = ['net_write_timeout', 'lock_wait_timeout', 'idle_transaction_timeout'];

/**
 * Builds one snapshot file from one consistent read, until it is told to stop.
 *
 * @returns the body's end, and what its readers stand on, which is read after that
 * @throws {PlatformError} BLOCKS_EMPTY, REQUEST_INVALID, DATABASE_REFUSED, DATABASE_UNAVAILABLE, SNAPSHOT_FAILED
 */
export default async function buildSnapshot(input: BuildInput): Promise<BuildResult> {
  const { order, coding, path, buildId, budgetMs, progress } = input;
  const tell = (message: BuildProgress) => progress.postMessage(message);
  const { coordinates } = order;
  const ending = new AbortController();
  const missed = listen(progress, ending);
  const connection = await connect(coordinates, {
    tag: `platform-snapshot ${coordinates.name} ${buildId}`,
    statementLimitS: Math.ceil(budgetMs / 1000),
    finderKey: order.finderKey
  });
  let file: FileHandle | undefined;
  let sizeBytes = 0;
  const watchdog = watchProgress(ending, () => tell({ type: 'grew', sizeBytes }));
  ending.signal.addEventListener('abort', () => connection.destroy());
  try {
    ending.signal.throwIfAborted();
    await beginSnapshot(connection);
    const plan = await planSnapshot(connection, order, ({ height, hashes }) => {
      tell({ type: 'asks', head: { height, hashes } });
      return missed;
    });
    const headers = snapshotHeaders(order, plan);
    file = await open(path, 'wx', 0o600);
    tell({ type: 'opened', headers });
    const compressor = openCompressor(coding, async (bytes) => {
      await file?.writeFile(bytes);
      sizeBytes += bytes.length;
      watchdog.progressed();
      tell({ type: 'grew', sizeBytes });
    });
    const source = (read: TableRead): TableSource => ({
      table: read.table,
      columns: read.columns,
      stream: (onRow) => {
        const take: TakeRowBytes = (bytes, start, end) => {
          watchdog.progressed();
          return onRow(bytes, start, end);
        };
        return streamRowBytes(connection, read, take, ending.signal);
      }
    });
    await writeSnapshot(content(order, plan, source), compressor);
    const isSettled = order.query.until === null;
    const written = { sizeBytes, settledAt: isSettled ? plan.head.height : null };
    tell({ type: 'written', ...written });
    // Reading this takes as long as some of the rows: the body does not wait for it.
    const checksums = isSettled ? await readSnapshotChecksums(connection, plan.layout, plan.head, plan.first) : null;
    return { written, checksums };
  } catch (caught) {
    throw isDriverError(caught) ? databaseError(caught, { database: coordinates.name }) : caught;
  } finally {
    watchdog.stop();
    connection.destroy();
    await file?.close();
    progress.close();
  }
}

/** Ends the build when it is told to. @returns what the main thread says that the reader has missed */
function listen(port: MessagePort, ending: AbortController): Promise<MissedChanges | null> {
  const { promise, resolve, reject } = Promise.withResolvers<MissedChanges | null>();
  promise.catch(() => undefined); // it may be waited for later, or not at all
  ending.signal.addEventListener('abort', () => reject(ending.signal.reason));
  port.on('message', (order: BuildOrder) => {
    if (order.type === 'missed') resolve(order.missed);
    else ending.abort(new PlatformError('SNAPSHOT_FAILED', { reason: 'the build was told to stop' }));
  });
  return promise;
}

/** Begins a snapshot: every statement from here on sees the database as it is now. */
async function beginSnapshot(connection: Connection): Promise<void> {
  await connection.query(`SET SESSION ${PATIENT.map((name) => `${name} = ${PATIENCE_S}`).join(', ')}`);
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
}

function content({ id, query }: BuildInput['order'], plan: SnapshotPlan, source: (read: TableRead) => TableSource) {
  // Only an indexer's clients expect `updated_rows`; a decoder's get it when there is something to say.
  const updated = id.dbType === 'indexer' || plan.updatedRows?.length ? plan.updatedRows : null;
  return {
    schemaVersion: SCHEMA_VERSION[id.dbType],
    blockHeight: plan.head.height,
    since: query.since,
    older: plan.older?.map(({ spans, read }) => ({ ...source(read), spans })) ?? null,
    tables: plan.tables.map(source),
    updatedRows: updated?.map(source) ?? null
  };
}

/** Ends the build without progress. @param onProgress called now and then while there is some, though no byte may have been written */
function watchProgress(ending: AbortController, onProgress: () => void) {
  let [progress, seen, idleMs] = [0, 0, 0];
  const timer = setInterval(() => {
    if (progress > seen) onProgress();
    idleMs = progress > seen ? 0 : idleMs + PROGRESS_CHECK_MS;
    seen = progress;
    const reason = `the database sent nothing for ${PROGRESS_TIMEOUT_MS} ms`;
    if (idleMs >= PROGRESS_TIMEOUT_MS) ending.abort(new PlatformError('SNAPSHOT_FAILED', { reason }));
  }, PROGRESS_CHECK_MS);
  return { progressed: () => void progress++, stop: () => clearInterval(timer) };
}
