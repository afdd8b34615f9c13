/** A Range header's request for a file that has `sizeBytes` bytes. */
type RangeAnswer =
  | { readonly kind: 'whole' }
  /** `end` inclusive. */
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

/**
 * Answers a single byte range, of a complete file or of one that grows.
 *
 * Anything but a single range of bytes, or a suffix of a file whose end is not known, gets the whole file.
 *
 * @see RFC 9110 section 14
 */
export function answerRange(header: string | undefined, sizeBytes: number, complete: boolean): RangeAnswer {
  const [, first, last] = /^bytes=(\d{1,15})?-(\d{1,15})?$/.exec(header ?? '') ?? [];
  if (first === undefined) {
    if (last === undefined || !complete) return { kind: 'whole' };
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  const end = last === undefined ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== undefined && Number(last) < start) return { kind: 'whole' };
  return start < sizeBytes ? { kind: 'part', start, end } : { kind: 'unsatisfiable' };
}

/** Returns the first byte that a Range header asks for, or null: how far a file that grows must reach for an answer. */
export function firstByte(header: string | undefined): number | null {
  const first = /^bytes=(\d{1,15})-\d{0,15}$/.exec(header ?? '')?.[1];
  return first === undefined ? null : Number(first);
}

/** Returns whether If-Range lets a range be served: absent, or exactly this strong tag. Dates and weak tags do not. */
export function ifRangeHolds(header: string | undefined, etag: string): boolean {
  return header === undefined || header.trim() === etag;
}

/** Returns whether If-None-Match names the tag, by weak comparison. */
export function noneMatchHits(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((entry) => entry.trim() === '*' || entry.trim().replace(/^W\//, '') === etag);
}
