import Type from 'typebox';
import { ByName } from './by-name.ts';

const Tables = ByName(Type.Array(ByName(Type.Unknown())));

/** A snapshot's body, keys in this order; tables without rows are left out. @see the specification, "Endpoints" */
export const SnapshotBodySchema = Type.Object({
  schema_version: Type.Integer({ description: 'indexer 7, decoder 3' }),
  block_height: Type.Integer({ minimum: 0 }),
  since_block: Type.Optional(Type.Integer({ minimum: 0 })),
  tables: Tables,
  updated_rows: Type.Optional(Tables)
});

/** Response headers of snapshots; the specification's, then this system's own. */
export const SNAPSHOT_HEADERS = {
  height: 'x-block-height',
  since: 'x-since-block',
  ledgerHash: 'x-ledger-hash',
  actionsHash: 'x-actions-hash',
  contractHash: 'x-contract-hash',
  blockHash: 'x-block-hash',
  schemaVersion: 'x-snapshot-schema-version',
  /** Comma-separated tables of which a since-snapshot holds every row there is: the replica's other rows of them go. */
  wholeTables: 'x-whole-tables',
  /** Schema fingerprint of the build's own read. */
  fingerprint: 'x-schema-fingerprint',
  /** Full snapshots: the server's estimate of the rows in the body, for a percentage and for no check. */
  rows: 'x-rows'
} as const;

/** The content codings of snapshot bodies: gzip is the specification's, zstd for clients that prefer it. */
export type SnapshotCoding = 'gzip' | 'zstd';

/** What a caller asks of a snapshot; also what makes two requests the same build. */
export interface SnapshotQuery {
  /** null: full; else blocks above this height. */
  readonly since: number | null;
  /** Blocks up to this height only; null: to the tip, with mutable tables whole. */
  readonly until: number | null;
  readonly skipLookups: boolean;
  /** Highest ids that the client holds, by lookup table, with the digest of its last 1000 rows. */
  readonly lookups: Readonly<Record<string, { readonly id: number; readonly digest: string }>>;
  readonly infraOnly: boolean;
  /** SYNC_SINCE_INCLUSIVE=1: blocks at and above `since`. */
  readonly inclusive: boolean;
}
