import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import type { SnapshotBatch } from '../../db/replica/snapshot-batch.ts';
import { PlatformError } from '../../errors.ts';
import { count as addTo } from '../../observe/counters.ts';
import type { WireRow } from '../../wire/data/messages.ts';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';
import { checkCost } from '../../wire/json.ts';
import { RowSplitter, type SnapshotFacts, type SplitterLimits } from './row-splitter.ts';

const CHUNK_BYTES = 256 * 1024;
/** 8 MiB, the most that a zstd body may make its reader keep. @see RFC 9659 */
const MAX_WINDOW_LOG = 23;

/** Rows as text are some ten times as long as compressed. */
const MAX_RATIO = 300;
const UNSUSPICIOUS_BYTES = 16 * 2 ** 20;

/** What of a body is taken. */
export interface SnapshotLimits extends SplitterLimits {
  /** Of the body when it is expanded; default: no bound. */
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
  for await (const chunk of decompress(body, coding, limits.maxBodyBytes)) {
    for (const { section, table, count, json, last } of splitter.push(chunk)) {
      addTo('rows.in', count);
      yield { section, table, rows: parseRows(json, count, table), last };
    }
  }
  return splitter.end();
}

/** The counts must agree: what looks like rows to the splitter must be rows to JSON.parse. */
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
  let received = 0;
  let given = 0;
  const feeding = feed(source, inflate, (bytes) => {
    received += bytes;
  });
  feeding.catch((cause: Error) => inflate.destroy(PlatformError.from(cause, 'SOURCE_UNREACHABLE')));
  try {
    for await (const chunk of inflate as AsyncIterable<Uint8Array>) {
      given += chunk.length;
      if (given > UNSUSPICIOUS_BYTES && given > received * MAX_RATIO) {
        const reason = `the body expands to more than ${MAX_RATIO} times its compressed size`;
        throw new PlatformError('SOURCE_INVALID', { reason });
      }
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

async function feed(
  source: AsyncIterable<Uint8Array>,
  sink: ReturnType<typeof openDecompressor>,
  onBytes: (count: number) => void
): Promise<void> {
  for await (const chunk of source) {
    if (sink.destroyed) return;
    onBytes(chunk.length);
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
