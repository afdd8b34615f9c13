import type { BlockHashes } from '../../../wire/data/database.ts';
import type { Group, WireRows } from '../../../wire/data/messages.ts';
import type { BlockHead } from '../../tables/block-hashes.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { ServerPosition } from '../binlog/position.ts';
import type { Checksum, Value } from '../changes/checksum-map.ts';
import type { FoundChanges } from '../changes/found-changes.ts';
import type { LookupMemory } from './lookup-reader.ts';
import type { RecentBlock } from './resume-point.ts';

/** One block of a group, as read. */
export interface GroupBlock {
  readonly head: BlockHead;
  readonly previous: BlockHashes | null;
  readonly group: Group;
  readonly layout: SourceLayout;
  /** The block's rows, and new lookup rows. */
  readonly rows: WireRows;
  readonly lookups: ReadonlyMap<string, LookupMemory>;
  /** By scoped table: checksums of the block's rows. */
  readonly own: ReadonlyMap<string, ReadonlyMap<Value, Checksum>>;
  readonly parents: NonNullable<RecentBlock['parents']>;
  /** Changes in other blocks; on the last block of the group only. */
  readonly changes: FoundChanges | null;
  /** Amendments of the block before the group's; absent: not known, or not its first block. */
  readonly amendedBefore?: number | undefined;
  /** Position of the group's snapshot in the binary log, where that names the changes; null: they are found by checksums. */
  readonly binlog: ServerPosition | null;
}
