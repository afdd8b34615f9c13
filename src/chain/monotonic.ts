/** Milliseconds since some moment: nobody who sets the clock moves them, and every thread counts the same ones. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
