import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import type { DatabaseCoordinates, DatabaseId } from './database.ts';
import { type Learned, TableRangesMessageSchema } from './messages.ts';

const Tables = ByName(Type.Array(ByName(Type.Unknown())));

/**
 * Parts of one table in a since-snapshot with `older`: those in which rows of older blocks changed since, or, with `parts`, rows
 * without a block. `older_rows` has every row that lies in them and in no block of the snapshot; others there are gone.
 */
export const OlderSpansSchema = Type.Object({
  column: TableRangesMessageSchema.properties.column,
  spans: TableRangesMessageSchema.properties.spans
});
export type OlderSpans = Static<typeof OlderSpansSchema>;

/** A snapshot's body, keys in this order; tables without rows are left out. @see the specification, "Endpoints" */
export const SnapshotBodySchema = Type.Object({
  schema_version: Type.Integer({ description: 'indexer 7, decoder 3' }),
  block_height: Type.Integer({ minimum: 0 }),
  since_block: Type.Optional(Type.Integer({ minimum: 0 })),
  older_spans: Type.Optional(ByName(Type.Array(OlderSpansSchema, { minItems: 1, maxItems: 1 }))),
  older_rows: Type.Optional(Tables),
  tables: Tables,
  updated_rows: Type.Optional(Tables)
});

export type SnapshotBody = Static<typeof SnapshotBodySchema>;

/** Response headers of snapshots; the specification's, then this system's own. */
export const SNAPSHOT_HEADERS = {
  height: 'x-block-height',
  since: 'x-since-block',
  ledgerHash: 'x-ledger-hash',
  actionsHash: 'x-actions-hash',
  contractHash: 'x-contract-hash',
  blockHash: 'x-block-hash',
  schemaVersion: 'x-snapshot-schema-version',
  /** Comma-separated tables that a since-snapshot holds whole: the replica deletes its other rows of them. */
  wholeTables: 'x-whole-tables',
  /** With `older`: the lowest block whose rows are in `tables`. */
  firstBlock: 'x-first-block',
  /** With `older`: the amendments of the snapshot's block that are in it. */
  amendments: 'x-amendments',
  /** With `older`: 1 when everything that changed up to the snapshot's block is in it; else amendments may follow. */
  settled: 'x-settled',
  /** Height and id of what the source learned, as in a status message: `841 5f0c…`. */
  learned: 'x-learned',
  /** The start of the source that built it, as the last of `lives` in a status message. */
  life: 'x-life',
  /** Schema fingerprint of the build's own read. */
  fingerprint: 'x-schema-fingerprint',
  /** Full snapshots: the server's estimate of the rows in the body, for a percentage and for no check. */
  rows: 'x-rows'
} as const;

/** The content codings of snapshot bodies: gzip is the specification's, zstd for clients that prefer it. */
export type SnapshotCoding = 'gzip' | 'zstd';

/** Parameters of a snapshot. Requests with equal parameters share one build. */
export interface SnapshotQuery {
  /** null: full; else blocks above this height. */
  readonly since: number | null;
  /** Blocks up to this height only; null: to the tip, with mutable tables whole. */
  readonly until: number | null;
  readonly skipLookups: boolean;
  /** Highest ids that the client holds, by lookup table, with the digest of its last 1000 rows. */
  readonly lookups: Readonly<Record<string, { readonly id: number | string; readonly digest: string }>>;
  readonly infraOnly: boolean;
  /** SYNC_COMPATIBLE_CLIENTS=1 or SYNC_SINCE_INCLUSIVE=1: blocks at and above `since`. */
  readonly inclusive: boolean;
  /** Changes of older rows come as parts of tables; if the source does not know them, blocks from this height on come. */
  readonly older: number | null;
  /** With `older`: of tables without blocks, too, only the parts that changed come, where the source knows them. */
  readonly parts: boolean;
}

/** Changes of older rows that a reader at a block has not received. */
export interface MissedChanges {
  /**
   * Blocks from here on come whole: the one after the reader's, the first of the group that it stands within, or the fork of a
   * reorg that its hashes do not show.
   */
  readonly from: number;
  /** By scoped table, the parts of which any row may have changed. */
  readonly spans: Readonly<Record<string, readonly (readonly [number, number] | null)[]>>;
  /** The same for tables without blocks; null: not known, or too many. */
  readonly others: MissedChanges['spans'] | null;
  /** Amendments of the block up to which it was asked that are in it; null: not known. */
  readonly amendments: number | null;
  /** Everything that changed up to that block was sent. */
  readonly isSettled: boolean;
}

/** A snapshot to build: what the pool's task needs, and the key under which equal requests share one build. */
export interface SnapshotOrder {
  readonly key: string;
  readonly id: DatabaseId;
  readonly coordinates: DatabaseCoordinates;
  readonly query: SnapshotQuery;
  readonly localTables: readonly string[];
  /** Key under which the snapshot's state is read; never written down. */
  readonly finderKey: string;
  /** The source's knowledge before the build begins; absent: it knows what it sent. */
  readonly learned?: Learned;
  /** The source's present life; absent: it has not begun. */
  readonly life?: string;
  /** Blocks that a since-snapshot holds; absent of a full one. */
  readonly behind?: number;
}
