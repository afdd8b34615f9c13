import type { TakeRowBytes } from '../../db/row-stream.ts';
import type { TypedColumn } from '../../wire/data/schema.ts';
import type { OlderSpans } from '../../wire/data/snapshot.ts';
import { ChunkWriter } from './chunk-writer.ts';
import type { Compressor } from './coding/compressor.ts';
import { RowEncoder } from './row-encoder.ts';

/** A table's rows, as MariaDB's text protocol carries them, pushed one by one. */
export interface TableSource {
  readonly table: string;
  readonly columns: readonly TypedColumn[];
  /** Calls `onRow` for each row, and waits for the promise that it may return. */
  stream(onRow: TakeRowBytes): Promise<void>;
}

/** Parts of a table, and their rows. */
interface OlderSource extends TableSource {
  readonly spans: OlderSpans;
}

/** The parts of a snapshot body, in the order in which they are written. */
export interface SnapshotContent {
  readonly schemaVersion: number;
  readonly blockHeight: number;
  /** Null in a full snapshot. */
  readonly since: number | null;
  /** Changes in older blocks; null: not included. */
  readonly older: readonly OlderSource[] | null;
  readonly tables: readonly TableSource[];
  /** Null: the key is left out. */
  readonly updatedRows: readonly TableSource[] | null;
}

/** Writes the body of a snapshot; memory stays within a few chunks, independent of the size of the tables. */
export async function writeSnapshot(content: SnapshotContent, compressor: Compressor): Promise<void> {
  const chunk = new ChunkWriter((bytes) => compressor.push(bytes));
  const since = content.since === null ? '' : `,"since_block":${content.since}`;
  chunk.text(`{"schema_version":${content.schemaVersion},"block_height":${content.blockHeight}${since}`);
  if (content.older) {
    const spans = Object.fromEntries(content.older.map((part) => [part.table, [part.spans]]));
    chunk.text(`,"older_spans":${JSON.stringify(spans)},"older_rows":`);
    await writeTables(content.older, chunk, compressor);
  }
  chunk.text(',"tables":');
  await writeTables(content.tables, chunk, compressor);
  if (content.updatedRows) {
    chunk.text(',"updated_rows":');
    await writeTables(content.updatedRows, chunk, compressor);
  }
  chunk.text('}');
  chunk.flush();
  await compressor.finish();
}

/** Writes tables; those without rows are left out. */
async function writeTables(tables: readonly TableSource[], chunk: ChunkWriter, compressor: Compressor): Promise<void> {
  chunk.text('{');
  let written = 0;
  for (const { table, columns, stream } of tables) {
    const encoder = new RowEncoder(columns);
    let count = 0;
    await stream((bytes, start, end) => {
      chunk.text(count++ > 0 ? ',' : `${written++ > 0 ? ',' : ''}${JSON.stringify(table)}:[`);
      encoder.encode(bytes, start, end, chunk);
      return chunk.flushWhenFull() ? compressor.ready : undefined;
    });
    if (count > 0) chunk.text(']');
  }
  chunk.text('}');
}
