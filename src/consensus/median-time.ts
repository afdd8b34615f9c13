/** Number of blocks of whose times the median is taken. */
export const MEDIAN_BLOCKS = 11;

/**
 * Returns the median time of the last block, as coin nodes have it: the middle one of its own time and those of up to
 * ten below it.
 *
 * @param times epoch seconds, the block's own last
 */
export function medianTime(times: readonly number[]): number {
  const sorted = times.slice(-MEDIAN_BLOCKS).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
