import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { TaskPool } from '../../../../actors/runtime/task-pool.ts';
import type {
  BuildInput,
  BuildOrder,
  BuildProgress,
  SnapshotHead
} from '../../../../src/replication/snapshot/build-messages.ts';
import type { DatabaseCoordinates, DatabaseId } from '../../../../src/wire/data/database.ts';
import type { WireRows } from '../../../../src/wire/data/messages.ts';
import type {
  MissedChanges,
  SnapshotCoding,
  SnapshotOrder,
  SnapshotQuery
} from '../../../../src/wire/data/snapshot.ts';
import type { SyncTasks } from '../../../../workers/sync/tasks.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

export const INDEXER: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };

export const FULL: SnapshotQuery = {
  since: null,
  until: null,
  skipLookups: false,
  lookups: {},
  infraOnly: false,
  inclusive: false,
  older: null,
  parts: false
};

export interface SnapshotBody {
  readonly schema_version: number;
  readonly block_height: number;
  readonly since_block?: number;
  readonly tables: WireRows;
  readonly updated_rows?: WireRows;
  readonly older_spans?: WireRows;
  readonly older_rows?: WireRows;
}

interface Built {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: SnapshotBody;
  readonly progress: readonly BuildProgress[];
}

/** A pool on which snapshots are built as the service does it; closed after the test file. */
export function openPool(): TaskPool<SyncTasks> {
  const pool = new TaskPool<SyncTasks>();
  after(() => pool.close());
  return pool;
}

export function orderOf(
  coordinates: DatabaseCoordinates,
  changes: Partial<SnapshotQuery> = {},
  id: DatabaseId = INDEXER
): SnapshotOrder {
  return { key: 'k', id, coordinates, query: { ...FULL, ...changes }, localTables: [], finderKey: TEST_KEY };
}

/** Builds one snapshot and reads it back. */
export async function build(
  pool: TaskPool<SyncTasks>,
  order: SnapshotOrder,
  coding: SnapshotCoding = 'gzip',
  missedUpTo: (head: SnapshotHead) => MissedChanges | null | Promise<MissedChanges | null> = () => null
): Promise<Built> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-build-'));
  const path = join(directory, 'snapshot');
  const { port1, port2 } = new MessageChannel();
  const progress: BuildProgress[] = [];
  try {
    const buildId = randomBytes(16).toString('hex');
    const input: BuildInput = { order, coding, path, buildId, budgetMs: 60_000, progress: port2 };
    port1.on('message', (sent: BuildProgress) => {
      if (sent.type !== 'asks') return void progress.push(sent);
      void Promise.resolve(missedUpTo(sent.head)).then((missed) =>
        port1.postMessage({ type: 'missed', missed } satisfies BuildOrder)
      );
    });
    await pool.run('sync/build-snapshot', input, { transfer: [port2] });
    for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1)) progress.push(next.message);
    const decompress = coding === 'gzip' ? gunzipSync : zstdDecompressSync;
    const text = decompress(readFileSync(path)).toString('utf8');
    const [opened] = progress;
    assert.ok(opened?.type === 'opened');
    return { headers: opened.headers, text, body: JSON.parse(text) as SnapshotBody, progress };
  } finally {
    port1.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
