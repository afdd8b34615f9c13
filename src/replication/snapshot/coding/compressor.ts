/** Compresses a body chunk by chunk; what comes out goes to a file in order. */
export interface Compressor {
  /**
   * Takes a chunk at once. Wait for `ready` before the next one, or memory is not bounded.
   *
   * @returns when the chunk's memory may be used again; never when compressing fails, which `ready` and `finish` tell
   */
  push(chunk: Buffer): Promise<void>;
  /** Undefined when another chunk may come; else a promise of it. @throws what compressing or writing threw */
  readonly ready: Promise<void> | undefined;
  /** Ends the body. @throws what compressing or writing threw */
  finish(): Promise<void>;
}

/** Appends; called in order, one call at a time. */
export type Append = (bytes: Buffer) => Promise<void>;
