import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { PlatformError } from '../../errors.ts';
import { count as addTo } from '../../observe/counters.ts';
import type { WireRow } from '../../wire/data/messages.ts';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';
import { checkCost } from '../../wire/json.ts';
import type { SnapshotBatch } from '../replica/database/snapshot-batch.ts';
import { RowSplitter, type SnapshotFacts, type SplitterLimits } from './row-splitter.ts';

const CHUNK_BYTES = 256 * 1024;
/** 8 MiB, the most that a zstd body may make its reader keep. @see RFC 9659 */
const MAX_WINDOW_LOG = 23;

/** Bytes of a body that are no rows: names of tables, and what stands between rows. Honest rows compress without bound. */
const MAX_OTHER_BYTES = 16 * 2 ** 20;
const OTHER_BYTES_PER_ROW = 64;

/** Limits on the part of a body that is taken. */
export interface SnapshotLimits extends SplitterLimits {
  /** Most bytes of the expanded body; default: no bound. */
  readonly maxBodyBytes?: number;
}

/**
 * Reads a compressed snapshot body batch by batch, in the order of the body.
 *
 * @returns the facts in the body, when it is complete to its end mark
 * @throws {PlatformError} SOURCE_TRUNCATED, SOURCE_INVALID
 */
export async function* readSnapshot(
  body: AsyncIterable<Uint8Array>,
  coding: SnapshotCoding,
  limits: SnapshotLimits
): AsyncGenerator<SnapshotBatch, SnapshotFacts> {
  const splitter = new RowSplitter(limits);
  const maxOther = limits.maxRowBytes + limits.batchBytes + MAX_OTHER_BYTES;
  let other = 0;
  for await (const chunk of decompress(body, coding, limits.maxBodyBytes)) {
    other += chunk.length;
    for (const { section, table, count, json, last } of splitter.push(chunk)) {
      other -= json.length + OTHER_BYTES_PER_ROW * count;
      addTo('rows.in', count);
      yield { section, table, rows: parseRows(json, count, table), last };
    }
    other = Math.max(0, other);
    if (other <= maxOther) continue;
    throw new PlatformError('SOURCE_INVALID', { reason: `more than ${maxOther} bytes of the body are no rows` });
  }
  return splitter.end();
}

/** Parses rows and compares their number: what looks like rows to the splitter must be rows to JSON.parse. */
function parseRows(json: Buffer, count: number, table: string): WireRow[] {
  let rows: unknown;
  try {
    checkCost(json);
    rows = JSON.parse(`[${json.toString('utf8')}]`);
  } catch (cause) {
    const why = (cause as Error).message.slice(0, 100);
    throw new PlatformError(
      'SOURCE_INVALID',
      { reason: `rows of ${table} are refused as JSON: ${why}`, table },
      { cause }
    );
  }
  if (!Array.isArray(rows) || rows.length !== count) {
    throw new PlatformError('SOURCE_INVALID', { reason: `rows of ${table} are ill-formed`, table });
  }
  return rows as WireRow[];
}

function openDecompressor(coding: SnapshotCoding) {
  if (coding === 'gzip') return createGunzip({ chunkSize: CHUNK_BYTES });
  return createZstdDecompress({ chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } });
}

async function* decompress(
  source: AsyncIterable<Uint8Array>,
  coding: SnapshotCoding,
  maxBytes = Number.POSITIVE_INFINITY
): AsyncGenerator<Uint8Array> {
  const inflate = openDecompressor(coding);
  let given = 0;
  const feeding = feed(source, inflate);
  feeding.catch((cause: Error) => inflate.destroy(PlatformError.from(cause, 'SOURCE_UNREACHABLE')));
  try {
    for await (const chunk of inflate as AsyncIterable<Uint8Array>) {
      given += chunk.length;
      if (given > maxBytes)
        throw new PlatformError('SOURCE_INVALID', {
          reason: `the body expands to more than ${maxBytes} bytes`
        });
      yield chunk;
    }
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

async function feed(source: AsyncIterable<Uint8Array>, sink: ReturnType<typeof openDecompressor>): Promise<void> {
  for await (const chunk of source) {
    if (sink.destroyed) return;
    addTo('bytes.in', chunk.length);
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
