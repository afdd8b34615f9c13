/** Bytes of a statement's list, far below what any server takes that is let in: 4 MiB. */
const LIST_BYTES = 2 ** 20;
const MOST_ITEMS = 1_000;

/**
 * Splits a list into parts that one statement takes, by their number and by their bytes. An item that is longer goes alone.
 *
 * @param mostItems  of a part
 */
export function pages<T>(list: readonly T[], mostItems = MOST_ITEMS): T[][] {
  const parts: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of list) {
    const own = sizeOf(item);
    if (bytes + own > LIST_BYTES || parts.at(-1)!.length >= mostItems) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(item);
    bytes += own;
  }
  return parts;
}

/** Returns about how many bytes a value is as text of SQL: binary data is written as hexadecimal digits. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 3 + Buffer.byteLength(value);
  if (value instanceof Uint8Array) return 4 + 2 * value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + sizeOf(each), 3);
  if (typeof value === 'object' && value !== null) return sizeOf(Object.values(value));
  return 24;
}
