import type { DatabaseDigest, DigestKey, DigestPart, DigestRange, TableDigest } from '../../../wire/data/digest.ts';
import type { CanonicalRow } from '../database/schema.ts';
import type { RangeSource } from './range-difference.ts';

/** The source's answers that a comparison needs. */
export interface DigestSource extends RangeSource {
  /** The key of the digests of its tip, at once: both sides make them at the same time. A server may make more than the part. */
  digestKey(signal?: AbortSignal, part?: DigestPart): Promise<DigestKey>;
  digest(key: string, signal?: AbortSignal): Promise<DatabaseDigest>;
}

/** Difference of one table. */
export interface TableDifference {
  readonly table: string;
  /** Rows of the replica that the source does not have. */
  readonly surplus: readonly CanonicalRow[];
  /** Rows of the source that the replica does not have. */
  readonly missing: readonly CanonicalRow[];
  /** Ranges that contain these rows. */
  readonly spans: readonly DigestRange[];
  /** The source's digest of the whole table, and the replica's rows outside of the spans. */
  readonly claimed: Pick<TableDigest, 'rows' | 'digest'>;
  readonly outside: Pick<TableDigest, 'rows' | 'digest'>;
  /** Size of the rows that were fetched. */
  readonly bytes: number;
  /** AUTO_INCREMENT ids were compared. */
  readonly withIds: boolean;
  /** The source has changed it since its block, or cannot say: the rows that it gave may be of a moment between two blocks. */
  readonly isDoubtful?: boolean;
}

/** Result of comparing a replica with its source. */
export type Comparison =
  /** Source and replica stand at different blocks or schemas, or the source is on its way to the next: nothing can be said. */
  | {
      readonly kind: 'elsewhere';
      readonly height: number;
      readonly sourceHeight: number;
      /** Tables that differ, and that the source has changed since its block, or may have. */
      readonly unsettled?: readonly string[];
    }
  | {
      readonly kind: 'equal';
      readonly height: number;
      readonly sourceDigest: DatabaseDigest;
      /** Tables that are equal but for their ids. */
      readonly ownIds: readonly string[];
      /** Tables that were made for rows of a source, and that this one does not name. */
      readonly unnamed: readonly string[];
    }
  | {
      readonly kind: 'different';
      readonly height: number;
      readonly sourceDigest: DatabaseDigest;
      readonly tables: readonly TableDifference[];
      /** Further tables that differ, or may differ: their missing rows are found once the others are repaired. */
      readonly more: readonly string[];
      /** Tables that are compared without their ids. */
      readonly ownIds: readonly string[];
      /** Table whose rows belie the digest of its source: it has what the source gave, and differs by that digest. */
      readonly belied?: string;
    };

export type Equal = Extract<Comparison, { kind: 'equal' }>;
export type Different = Extract<Comparison, { kind: 'different' }>;

/** The comparison of a source that is not followed with the replica's tables. */
export type Attestation =
  | { readonly kind: 'elsewhere'; readonly sourceHeight: number }
  | {
      readonly kind: 'told';
      readonly equal: readonly string[];
      readonly different: readonly string[];
      /** Tables that differ, and that the source has changed since its block: nothing can be said of them. */
      readonly unsettled: readonly string[];
    };

export interface CompareOptions {
  /** Compares this table and no other. */
  readonly only?: string | undefined;
  /** Compares these tables and no others. */
  readonly part?: DigestPart;
  /** A table that the source has changed since its last block is not compared: the next block carries that. Absent: it is not asked. */
  readonly patient?: boolean;
  /** Tables that may have rows of a moment between two blocks: they are equal only where the source has not changed them since its block. */
  readonly doubted?: readonly string[];
  /**
   * Its name. Where the replica has the ids of another one, tables in which they differ are compared without them. Absent: of
   * such tables only those that the replica's marker names.
   */
  readonly source?: string;
  /** Called when the replica's snapshot stands: blocks that are applied later are not in it. */
  readonly opened?: () => void;
  /** Called with the number of the replica's rows that each statement read. */
  readonly onRead?: (rows: number) => void;
  /** Ids count in every table. */
  readonly allIds?: boolean;
}
