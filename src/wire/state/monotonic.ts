/** Milliseconds since a fixed moment, the same in every thread; setting the clock does not move them. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
