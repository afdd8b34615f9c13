import type { PlatformError } from '../../../src/errors.ts';

/** The replica contradicts its source in a way that only loading it anew can settle. */
export class ReplicaLost extends Error {
  constructor(cause: PlatformError) {
    super(cause.message, { cause });
  }
}
