/** An id as JSON carries it: a number, or decimal text where a number is not exact. */
export type JsonId = number | string;

/** An id of a row as read, or of JSON. */
export function toId(read: JsonId | null | undefined): bigint {
  return BigInt(read ?? 0);
}

/** The id for JSON, and for a statement. */
export function toJsonId(id: bigint): JsonId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : String(id);
}

/** The larger one. */
export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
