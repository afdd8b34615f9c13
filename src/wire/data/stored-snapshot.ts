import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';

/** A full snapshot in the object store of NATS. */
const StoredSnapshotSchema = Type.Object({
  coding: Type.Union([Type.Literal('gzip'), Type.Literal('zstd')]),
  height: Type.Integer({ minimum: 0 }),
  etag: Type.String(),
  /** Response headers that its build decided. */
  headers: ByName(Type.String()),
  bucket: Type.String(),
  object: Type.String(),
  sizeBytes: Type.Integer({ minimum: 0 }),
  /** In hex. */
  sha256: Type.String()
});
export type StoredSnapshot = Static<typeof StoredSnapshotSchema>;

/** The value `snapshots` of a database: of each coding the newest first. */
export const StoredSnapshotsSchema = Type.Array(StoredSnapshotSchema);
