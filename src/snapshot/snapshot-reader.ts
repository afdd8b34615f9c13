import { createGunzip } from 'node:zlib';
import { PlatformError } from '../errors.ts';
import type { WireRow } from '../wire/messages.ts';
import { RowSplitter, type Section, type SnapshotFacts, type SplitterLimits } from './row-splitter.ts';

/** Consecutive rows of one table of a snapshot. */
export interface SnapshotBatch {
  readonly section: Section;
  readonly table: string;
  readonly rows: readonly WireRow[];
  /** The table's rows end with these. */
  readonly last: boolean;
}

/**
 * Reads a gzip-compressed snapshot body batch by batch, in the order of the body.
 *
 * @returns what the body says of itself, when it is complete to its end mark
 * @throws {PlatformError} SOURCE_TRUNCATED, SOURCE_INVALID
 */
export async function* readSnapshot(
  gzip: AsyncIterable<Uint8Array>,
  limits: SplitterLimits
): AsyncGenerator<SnapshotBatch, SnapshotFacts> {
  const splitter = new RowSplitter(limits);
  for await (const chunk of gunzip(gzip)) {
    for (const { section, table, count, json, last } of splitter.push(chunk)) {
      yield { section, table, rows: parseRows(json, count, table), last };
    }
  }
  return splitter.end();
}

/** The counts must agree: what looks like rows to the splitter must be rows to JSON.parse. */
function parseRows(json: Buffer, count: number, table: string): WireRow[] {
  let rows: unknown;
  try {
    rows = JSON.parse(`[${json.toString('utf8')}]`);
  } catch (cause) {
    throw new PlatformError('SOURCE_INVALID', { reason: `rows of ${table} are no JSON`, table }, { cause });
  }
  if (!Array.isArray(rows) || rows.length !== count) {
    throw new PlatformError('SOURCE_INVALID', { reason: `rows of ${table} are ill-formed`, table });
  }
  return rows as WireRow[];
}

async function* gunzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createGunzip({ chunkSize: 256 * 1024 });
  const feeding = feed(source, inflate);
  feeding.catch((cause: Error) => inflate.destroy(cause));
  try {
    yield* inflate as AsyncIterable<Uint8Array>;
    await feeding;
  } catch (caught) {
    if (caught instanceof PlatformError) throw caught;
    const truncated = (caught as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
    const reason = `the compressed body is ${truncated ? 'cut short' : 'damaged'}: ${(caught as Error).message}`;
    throw new PlatformError(truncated ? 'SOURCE_TRUNCATED' : 'SOURCE_INVALID', { reason }, { cause: caught });
  } finally {
    inflate.destroy();
  }
}

async function feed(source: AsyncIterable<Uint8Array>, sink: ReturnType<typeof createGunzip>): Promise<void> {
  for await (const chunk of source) {
    if (sink.destroyed) return;
    if (!sink.write(chunk)) {
      await new Promise<void>((resolve) => {
        const go = () => {
          sink.off('drain', go).off('close', go);
          resolve();
        };
        sink.on('drain', go).on('close', go);
      });
    }
  }
  sink.end();
}
