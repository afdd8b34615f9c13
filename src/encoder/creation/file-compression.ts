import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import { parseCommand } from '../../coin/action/command.ts';
import { COMPRESSION_PLACE, DEFLATED, FILE_FORMAT, MOST_INFLATION } from '../../coin/action/file.ts';
import type { CreateRequest } from './request.ts';

/** The form in which the bytes beside an action are stored. */
export interface FileCompression {
  readonly compressed: boolean;
  /** Bytes of the caller. */
  readonly rawLength: number;
  /** Bytes that the transaction carries. */
  readonly storedLength: number;
  /** Null where they are deflated; else the reason why they are stored as they are. */
  readonly reason: null | 'not-a-file-action' | 'gated-file' | 'codec-already-declared' | 'not-smaller' | 'ratio-guard';
  /** Fields that the transaction carries in place of the caller's `data` and `rawData`, where they are deflated. */
  readonly stored?: { readonly data: string; readonly rawData: string };
}

const GATE_PLACE = FILE_FORMAT.split('|').indexOf('GATE_TICKER');
const deflate = promisify(deflateRaw);

/**
 * Deflates the bytes of a FILE and says so in its field COMPRESSION, unless `compress` is false, or they would not be
 * shorter, or longer than readers inflate. The same request gives the same bytes on one machine: other CPUs and other
 * versions of Node may deflate otherwise, so a second call may send what the first one stored.
 *
 * @returns the request as it is built, and what became of its bytes; null where there are none, or they are not to be deflated
 */
export async function compressFile(
  request: CreateRequest
): Promise<{ readonly request: CreateRequest; readonly compression: FileCompression | null }> {
  const { data = '', rawData = '', compress = true } = request;
  if (!compress || rawData === '' || /[^\0-\xff]/.test(rawData)) return { request, compression: null };
  const rawLength = rawData.length;
  const kept = (reason: FileCompression['reason']) => ({
    request,
    compression: { compressed: false, rawLength, storedLength: rawLength, reason }
  });
  const { name, format, fields } = parseCommand(data);
  if (name !== 'FILE' || format !== 0) return kept('not-a-file-action');
  // Whoever encrypted the bytes says how: of gated files the field is about what is inside.
  if ((fields[GATE_PLACE] ?? '') !== '') return kept('gated-file');
  if ((fields[COMPRESSION_PLACE] ?? '') !== '') return kept('codec-already-declared');
  const bytes = await deflate(Buffer.from(rawData, 'latin1'));
  const [written, , ...given] = data.split('|');
  const before = Array.from({ length: COMPRESSION_PLACE }, (_, place) => given[place] ?? '');
  const marked = [written, '0', ...before, DEFLATED, ...given.slice(COMPRESSION_PLACE + 1)].join('|');
  if (marked.length + bytes.length >= data.length + rawLength) return kept('not-smaller');
  if (rawLength > bytes.length * MOST_INFLATION) return kept('ratio-guard');
  const stored = { data: marked, rawData: bytes.toString('latin1') };
  return {
    request: { ...request, ...stored },
    compression: { compressed: true, rawLength, storedLength: bytes.length, reason: null, stored }
  };
}
