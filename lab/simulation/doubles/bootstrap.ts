import type { Outcome } from '../../../machines/sync/replica.ts';
import { quoteName } from '../../../src/db/connection.ts';
import { PlatformError } from '../../../src/errors.ts';
import { readSnapshotHead, type SnapshotHead } from '../../../src/replication/client/snapshot-head.ts';
import { canonicalRows } from '../../../src/replication/replica/apply/table-wants.ts';
import { cutJournal } from '../../../src/replication/replica/apply/undo-journal.ts';
import { insertRows } from '../../../src/replication/replica/database/row-statements.ts';
import { travels } from '../../../src/replication/replica/database/schema.ts';
import type { SnapshotBatch } from '../../../src/replication/replica/database/snapshot-batch.ts';
import { writeReplicaState } from '../../../src/replication/replica/database/state.ts';
import { logBlocks } from '../../../src/replication/replica/database/written-blocks.ts';
import type { Replica } from '../../../src/replication/replica/parts/replica.ts';
import type { SourceQuorum } from '../../../src/replication/replica/quorum/source-quorum.ts';
import { readSnapshot } from '../../../src/replication/snapshot/snapshot-reader.ts';
import { readBlockHeads } from '../../../src/replication/tables/block-hashes.ts';
import type { LoggedBlock } from '../../../src/replication/tables/transparency-log.ts';
import { unknownHashes } from '../../../src/wire/data/database.ts';

type Parts = Pick<Replica, 'data' | 'store' | 'sources'>;

/**
 * Stands for the bulk load, which is files, LOAD DATA and DDL: a full snapshot goes in by one transaction. What is before and
 * after it is the real thing.
 */
export class ReplicaBootstrap {
  readonly #replica: Parts;
  readonly #council: SourceQuorum;
  #head: SnapshotHead | undefined;
  #batches: SnapshotBatch[] = [];

  constructor(replica: Parts, council: SourceQuorum) {
    this.#replica = replica;
    this.#council = council;
  }

  async fetchSchema(): Promise<void> {
    const nothing = { height: null, blockTime: null, hashes: null, verifiedHeight: null, verifiedAt: null };
    await writeReplicaState(this.#replica.store.writer, { complete: false, phase: 'bootstrapping', ...nothing });
    await this.#replica.store.reloadState();
  }

  async download(signal: AbortSignal): Promise<Outcome> {
    const { client: source } = this.#replica.sources;
    const { data } = this.#replica;
    const response = await source.get(source.modePath('snapshot'), {}, signal);
    if (response.status !== 200) return source.refuse(response, 'the snapshot');
    this.#head = readSnapshotHead(response.headers, 'indexer');
    const { coding, height, hashes } = this.#head;
    this.#batches = [];
    const limits = { maxRowBytes: data.maxRowBytes, batchBytes: 2 ** 20 };
    for await (const batch of readSnapshot(response.body, coding, limits)) this.#batches.push(batch);
    this.#replica.sources.standsAt(height);
    const verdict = await this.#council.confirm(height, hashes ?? unknownHashes('indexer'), signal);
    if (verdict === 'other')
      throw new PlatformError('SOURCE_INVALID', { reason: 'the snapshot is of another branch', source: source.url });
    return { kind: verdict === 'halted' ? 'halted' : 'done' };
  }

  async load(): Promise<void> {
    const { writer, context } = this.#replica.store;
    const { data } = this.#replica;
    const { client: source } = this.#replica.sources;
    const { schema } = context;
    const { height, hashes, fingerprint } = this.#head!;
    await writer.query('BEGIN');
    await cutJournal(writer, -1);
    for (const { name } of schema.tables.filter(travels)) await writer.query(`DELETE FROM ${quoteName(name)}`);
    for (const name of ['sync_meta', 'merkle_epochs']) await writer.query(`DELETE FROM ${name}`);
    for (const { table: name, rows } of this.#batches) {
      const table = schema.byName.get(name)!;
      await insertRows(writer, table, canonicalRows(table, rows));
    }
    const heads = await readBlockHeads(writer, schema.heads!, 1, height);
    await logBlocks(writer, heads as LoggedBlock[], data.epochSize);
    const { blockTime } = heads.at(-1)!;
    const marker = { height, hashes, blockTime, schemaFingerprint: fingerprint, source: source.url, infraOnly: false };
    await writeReplicaState(writer, { ...marker, phase: 'catchingUp', complete: true });
    await writer.query('COMMIT');
  }

  async check(): Promise<Outcome> {
    await this.#replica.store.reloadState();
    return { kind: 'done' };
  }
}
