import type { BlockHashes } from '../../../wire/data/database.ts';
import type { Learned, Life } from '../../../wire/data/messages.ts';
import type { ServerPosition } from '../binlog/position.ts';
import type { Span } from '../changes/spans.ts';
import type { KeptWatch } from '../changes/table-watch.ts';
import type { DatabaseMark } from './database-mark.ts';
import type { JsonId } from './lookup-id.ts';
import type { TableColumns } from './served-tables.ts';

export type { KeptWatch } from '../changes/table-watch.ts';

/** A block that was broadcast. */
export interface RecentBlock {
  readonly height: number;
  readonly hashes: BlockHashes;
  /** Lookup tables that had gained ids in its group by then, and their highest id before the group; absent: not known. */
  readonly lookupsBefore?: Readonly<Record<string, JsonId>>;
  /** By scope column of a parent: the lowest and highest value of the block; absent: not known. */
  readonly parents?: Readonly<Record<string, readonly [number, number]>>;
  /** On the last block of a group: the older rows that it sent, sent again when a reorg undoes it; null: too much to list. */
  readonly older?: OlderChanges | null;
  /** On a block that was not the last of its group: the group's first. Rows of these blocks are as of the last one. */
  readonly within?: number;
  /** If that is null: the part for scoped tables, if it was not too much. */
  readonly scoped?: OlderChanges['spans'];
  /** Amendments that were sent of it; absent: none. */
  readonly amended?: number;
}

/** A group's changes beyond its own blocks, by table. */
export interface OlderChanges {
  /** Parts that were sent again. */
  readonly spans: Readonly<Record<string, readonly Span[]>>;
  /** Highest AUTO_INCREMENT id before the group, where it has grown. */
  readonly lastIdsBefore: Readonly<Record<string, number>>;
}

/** A reorg: blocks from `fork` to `height` were orphaned. Those that come after may have the same hashes. */
export interface Fork {
  readonly fork: number;
  readonly height: number;
  /** Whether it was unknown which older rows the orphaned groups had sent: of large tables without blocks not all were sent again. */
  readonly isUnlisted?: boolean;
}

/** Everything a successor needs to continue after the last broadcast, without a gap and without a change lost. */
export interface ResumePoint {
  /** The database of this resume point; absent in files of an earlier version. */
  readonly of?: DatabaseMark;
  /** The algorithm of its sums; sums of another algorithm are ignored. Absent in files of an earlier version. */
  readonly algorithm?: number;
  /** -1: the database was empty, and its first block is the next. */
  readonly height: number;
  /** Time of that block; with height and hashes it is in a new subscriber's status message. */
  readonly blockTime: number | null;
  readonly hashes: BlockHashes;
  /** The last broadcast blocks, oldest first, at most 1000: where a reorg's fork is looked for. */
  readonly recent: readonly RecentBlock[];
  /** Number of reorgs ever broadcast; absent in files of an earlier version. */
  readonly reorgs?: number;
  /** Reorgs that a reader may not have noticed; absent in files of an earlier version. */
  readonly forks?: readonly Fork[];
  /** First height of a group that was broadcast in part: the successor's next message continues it. */
  readonly openGroup: number | null;
  /** Highest id broadcast, by lookup table. */
  readonly lookupIds: Readonly<Record<string, JsonId>>;
  /** By table whose changes are found by content: sums of its broadcast rows. */
  readonly watches: Readonly<Record<string, KeptWatch>>;
  /** Tables of which not all rows that changed up to the last block were sent; absent in files of an earlier version: any. */
  readonly unsettled?: readonly string[];
  /** The last state that this source, or a predecessor, took as its base without knowing what it had sent; absent: none. */
  readonly learned?: Learned;
  /** The last starts of the source, the present one last; absent in files of an earlier version. */
  readonly lives?: readonly Life[];
  /** Position in the binary log up to which changes were broadcast; null or absent: not known. */
  readonly binlog?: ServerPosition | null;
  /** The tables that were served; absent in files of an earlier version. */
  readonly served?: TableColumns;
}

/** Additions of groups to a resume point: `advance` of both is the point after them. */
export interface ResumeStep
  extends Pick<
    ResumePoint,
    | 'height'
    | 'blockTime'
    | 'hashes'
    | 'openGroup'
    | 'forks'
    | 'lookupIds'
    | 'unsettled'
    | 'learned'
    | 'binlog'
    | 'served'
  > {
  /** The last block of the point before, where amendments changed what is known of it. */
  readonly amendedLast?: RecentBlock;
  /** The blocks after those of the point before. */
  readonly added: readonly RecentBlock[];
  /** The tables whose facts changed. */
  readonly watches: Readonly<Record<string, KeptWatch>>;
}

/** Blocks that a source remembers: a fork is looked for among them. */
export const RECENT_BLOCKS = 1_000;

export function isStep(change: ResumePoint | ResumeStep): change is ResumeStep {
  return 'added' in change;
}

/** Returns the resume point after a step. */
export function advance(point: ResumePoint, { added, amendedLast, watches, ...facts }: ResumeStep): ResumePoint {
  const before = amendedLast ? [...point.recent.slice(0, -1), amendedLast] : point.recent;
  const recent = [...before, ...added].slice(-RECENT_BLOCKS);
  return { ...point, ...facts, recent, watches: { ...point.watches, ...watches } };
}

/** Sums of the first 64 bits of keyed SHA-256, mod 2^64, by ranges of values. */
export const SUM_ALGORITHM = 3;
