/** Returns the hash of the block at a height; null where there is none. */
type HashReader = (height: number) => Promise<string | null>;

/**
 * Finds the highest block that two chains share, by halving: they share everything below it.
 *
 * @param lowest first height that both may have
 * @param highest last height
 * @returns a height, or `lowest - 1` when they share none
 */
export async function highestShared(
  local: HashReader,
  remote: HashReader,
  { lowest, highest }: { readonly lowest: number; readonly highest: number }
): Promise<number> {
  let [shared, different] = [lowest - 1, highest + 1];
  while (different - shared > 1) {
    const middle = Math.floor((shared + different) / 2);
    const [own, other] = [await local(middle), await remote(middle)];
    if (own !== null && own === other) shared = middle;
    else different = middle;
  }
  return shared;
}
