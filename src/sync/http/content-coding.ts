import type { SnapshotCoding } from '../../wire/data/snapshot.ts';

const ENTRY = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/**
 * Chooses the content coding of a snapshot's body: zstd when the client gives it a strictly higher q-value than gzip,
 * else gzip, also where the header is missing, names neither, or cannot be read.
 *
 * @see RFC 9110 section 12.5.3
 */
export function chooseCoding(acceptEncoding: string | undefined): SnapshotCoding {
  const { zstd, gzip } = readWeights(acceptEncoding);
  return zstd > gzip ? 'zstd' : 'gzip';
}

/** Chooses the same, but the plain body (null) for a caller that names neither. */
export function chooseOptionalCoding(acceptEncoding: string | undefined): SnapshotCoding | null {
  const { zstd, gzip } = readWeights(acceptEncoding);
  return Math.max(zstd, gzip) > 0 ? chooseCoding(acceptEncoding) : null;
}

function readWeights(acceptEncoding: string | undefined): { readonly zstd: number; readonly gzip: number } {
  const weights = new Map<string, number>();
  for (const entry of (acceptEncoding ?? '').slice(0, 1_000).split(',')) {
    const [, name, q = '1'] = ENTRY.exec(entry.trim()) ?? [];
    if (name !== undefined) weights.set(name.toLowerCase(), Number(q));
  }
  const rest = weights.get('*') ?? 0;
  return { zstd: weights.get('zstd') ?? rest, gzip: weights.get('gzip') ?? weights.get('x-gzip') ?? rest };
}
