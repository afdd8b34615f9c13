import { promisify } from 'node:util';
import { constants, gzip, zstdCompress } from 'node:zlib';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';

const gzipped = promisify(gzip);
const zstd = promisify(zstdCompress);

/** Encodes a body that is read at once, in the coding that its reader asked for; null: as it is. The memory is the body's alone. */
export async function encodeBody(json: string, coding: SnapshotCoding | null): Promise<Uint8Array<ArrayBuffer>> {
  const plain = new TextEncoder().encode(json);
  if (coding === null) return plain;
  if (coding === 'gzip') return new Uint8Array(await gzipped(plain, { level: 1 }));
  return new Uint8Array(await zstd(plain, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }));
}
