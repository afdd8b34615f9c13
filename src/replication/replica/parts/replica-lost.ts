import type { PlatformError } from '../../../errors.ts';

/** The replica contradicts its source; only a new bootstrap can settle it. */
export class ReplicaLost extends Error {
  constructor(cause: PlatformError) {
    super(cause.message, { cause });
  }
}
