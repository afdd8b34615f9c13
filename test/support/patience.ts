/**
 * Bound of a wait for other threads and processes, in milliseconds. It is no promise of the product: beside other work a
 * machine may take minutes over what takes one second alone.
 */
export const PATIENCE_MS = 120_000;
