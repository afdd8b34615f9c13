import { toBaseUnits } from '../coin/amount.ts';
import { PlatformError } from '../errors.ts';

/** Returns the error for an answer that does not fit its call. */
export const malformed = (method: string): PlatformError =>
  new PlatformError('NODE_REFUSED', { reason: "the node's answer is malformed", method });

/** Converts an amount of a node's answer to satoshis. @throws {PlatformError} NODE_REFUSED when it is malformed */
export function readNodeAmount(amount: string | number, method: string): bigint {
  try {
    return toBaseUnits(amount);
  } catch {
    throw malformed(method);
  }
}
