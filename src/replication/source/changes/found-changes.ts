import type { SqlRow } from '../../../db/connection.ts';
import type { Checksum, Value } from './checksum-map.ts';
import type { Span } from './spans.ts';
import type { TableTimes } from './table-facts.ts';

/** Parts of one table that a group sends, and their checksums afterwards. */
interface SentPart {
  /** The values that `entries` covers whole. */
  readonly spans: readonly Span[];
  readonly entries: ReadonlyMap<Value, Checksum>;
}

/** Facts for a table's watch after the group was sent; a look that covered nothing sets only `lastId` and `explained`. */
export interface LookNotes {
  lastId: number;
  isLooked: boolean;
  /** All rows were compared. */
  isWhole: boolean;
  /** The table's times when it was looked at. */
  times: TableTimes | undefined;
  isSettled: boolean;
  stamp: number | null;
  explained: number;
}

/** The rows that changed since the last broadcast, as a log of them says. */
export interface LoggedChanges {
  /** Whether nothing is known of any table. */
  readonly isAll: boolean;
  /** Whether any row of a table may have changed. */
  has(table: string): boolean;
  /** Whether a table may have changed in any part. */
  isWhole(table: string): boolean;
  /** Whether the definition of a table was changed, which may have changed any value. */
  isAltered(table: string): boolean;
  /** The changed values of a table that did not change as a whole. */
  spans(table: string): readonly Span[];
}

/** The result of one table's look. */
export interface TableFound {
  /** Rows to insert or to change. */
  readonly updated: SqlRow[];
  /** Keys of rows that are gone. */
  readonly deleted: SqlRow[];
  /** Parts that are sent whole; null where `updated` and `deleted` say all. */
  readonly ranges: { readonly column: string | null; readonly spans: readonly Span[]; readonly rows: SqlRow[] } | null;
  readonly sent: SentPart;
  /** Pending parts that go with a later group. */
  readonly left: readonly Span[];
  /** Keys of a derived table that were sent; null: of some rows that went only their id is known. */
  readonly keys: ReadonlySet<string> | null;
  readonly notes: Readonly<LookNotes>;
}

/** Everything that a group changed beyond its own blocks' rows. */
export interface FoundChanges {
  readonly tables: ReadonlyMap<string, TableFound>;
  /** By lookup table: rows that were sent before and got their block now. */
  readonly stamped: ReadonlyMap<string, SqlRow[]>;
  /** By lookup table: ids that replicas may hold and the database does not have. */
  readonly vanishedIds: ReadonlyMap<string, readonly bigint[]>;
  /** By lookup table: ids up to the watermark whose rows were sent, or that vanished. */
  readonly lookupIds: ReadonlyMap<string, readonly bigint[]>;
  /** By lookup table: UPDATE_TIME when it was read, where a later change shows another one. */
  readonly lookupTimes: ReadonlyMap<string, string>;
  /** UPDATE_TIME of `blocks`; null: not known. */
  readonly blocksTime: string | null;
  /** Sentences about the changes that could not be carried. */
  readonly gaps: readonly string[];
  /** Tables of which some rows were not compared with the broadcast ones since they may have changed. */
  readonly unlooked: ReadonlySet<string>;
}
