/** An id as JSON carries it: a number, or decimal text where a number is not exact. */
export type JsonId = number | string;

/** Returns an id as read from a row, or from JSON. */
export function toId(read: JsonId | null | undefined): bigint {
  return BigInt(read ?? 0);
}

/** Returns an id as JSON and statements have it. */
export function toJsonId(id: bigint): JsonId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : String(id);
}

/** Returns the larger one. */
export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
