import { PlatformError } from '../../errors.ts';
import { toBaseUnits } from '../amount.ts';

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

const HEIGHT = /^\d{1,9}$/;
const HASH = /^[0-9a-f]{64}$/;

/** Converts the height of a node's answer to a number. @throws {PlatformError} NODE_REFUSED when it is malformed */
export function readNodeHeight(height: unknown, method: string): number {
  if (HEIGHT.test(String(height))) return Number(height);
  throw malformed(method);
}

/** Returns the block hash of a node's answer. @throws {PlatformError} NODE_REFUSED when it is malformed */
export function readNodeHash(hash: unknown, method: string): string {
  if (HASH.test(String(hash))) return String(hash);
  throw malformed(method);
}
