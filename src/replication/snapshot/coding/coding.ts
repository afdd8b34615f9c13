import type { SnapshotCoding } from '../../../wire/data/snapshot.ts';
import type { Append, Compressor } from './compressor.ts';
import { GzipStitcher } from './gzip-stitcher.ts';
import { ZstdCompressor } from './zstd-compressor.ts';

/** Opens what compresses a body in that coding. */
export function openCompressor(coding: SnapshotCoding, append: Append): Compressor {
  return coding === 'zstd' ? new ZstdCompressor(append) : new GzipStitcher(append);
}
