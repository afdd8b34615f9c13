import type { WireRow } from '../../../wire/data/messages.ts';

/** Section of a snapshot body; `older_spans` has one entry for each table, which is no row of it. */
export type Section = 'older_spans' | 'older_rows' | 'tables' | 'updated_rows';

/** Consecutive rows of one table of a snapshot. */
export interface SnapshotBatch {
  readonly section: Section;
  readonly table: string;
  readonly rows: readonly WireRow[];
  /** The table's rows end with these. */
  readonly last: boolean;
}
