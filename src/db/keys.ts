/** Names the finder's key in SQL: a connection that was opened with `finderKey` has it, and no statement shows it. */
export const FINDER_KEY = '@platform_key';

/** Returns a key of 32 hex digits as SQL text. A binary literal would make the whole text binary, which refuses what is no UTF-8. */
export function keyLiteral(key: string): string {
  if (!/^[0-9a-f]{32}$/.test(key)) throw new Error('a key is 32 hex digits');
  return `'${key}'`;
}
