import type { WireRow } from '../wire/messages.ts';
import { ChunkEncoder } from './chunk-encoder.ts';
import type { GzipStitcher } from './gzip-stitcher.ts';

/** A table's rows, pushed one by one. */
export interface TableSource {
  readonly table: string;
  /** Calls `onRow` for each row, and waits for the promise that it may return. */
  stream(onRow: (row: WireRow) => Promise<void> | undefined): Promise<void>;
}

/** The parts of a snapshot body, in the order in which they are written. */
export interface SnapshotContent {
  readonly schemaVersion: number;
  readonly blockHeight: number;
  /** Null in a full snapshot. */
  readonly since: number | null;
  readonly tables: readonly TableSource[];
  /** Null: the key is left out. */
  readonly updatedRows: readonly TableSource[] | null;
}

/** Writes the body of a snapshot; memory stays within a few chunks whatever the tables hold. */
export async function writeSnapshot(content: SnapshotContent, gzip: GzipStitcher): Promise<void> {
  const encoder = new ChunkEncoder((chunk) => gzip.push(chunk));
  const since = content.since === null ? '' : `,"since_block":${content.since}`;
  encoder.append(`{"schema_version":${content.schemaVersion},"block_height":${content.blockHeight}${since},"tables":`);
  await writeTables(content.tables, encoder, gzip);
  if (content.updatedRows) {
    encoder.append(',"updated_rows":');
    await writeTables(content.updatedRows, encoder, gzip);
  }
  encoder.append('}');
  encoder.flush();
  await gzip.finish();
}

/** Tables without rows are left out. */
async function writeTables(tables: readonly TableSource[], encoder: ChunkEncoder, gzip: GzipStitcher): Promise<void> {
  encoder.append('{');
  let written = 0;
  for (const { table, stream } of tables) {
    let count = 0;
    await stream((row) => {
      const opening = count++ > 0 ? ',' : `${written++ > 0 ? ',' : ''}${JSON.stringify(table)}:[`;
      return encoder.append(opening + JSON.stringify(row)) ? gzip.ready : undefined;
    });
    if (count > 0) encoder.append(']');
  }
  encoder.append('}');
}
