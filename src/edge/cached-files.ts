import type { Artifact } from '../replication/snapshot/artifact.ts';

/** The files of an edge's snapshots, the longest unused first, and the bytes that all may take. */
export class CachedFiles {
  readonly #maxBytes: number;
  /** Bytes of each file when it is whole. */
  readonly #sizes = new Map<Artifact, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#sizes.values().reduce((sum, size) => sum + size, 0);
  }

  /**
   * Makes room for a file: those that nobody reads give way, the longest unused first.
   *
   * @param giveUp called with each that gives way
   * @returns false when there is none: then all stay
   */
  makeRoom(sizeBytes: number, giveUp: (artifact: Artifact) => void): boolean {
    const idle = [...this.#sizes].filter(([artifact]) => !artifact.inUse);
    const idleBytes = idle.reduce((sum, [, size]) => sum + size, 0);
    if (this.bytes - idleBytes + sizeBytes > this.#maxBytes) return false;
    for (const [artifact] of idle) {
      if (this.bytes + sizeBytes <= this.#maxBytes) break;
      this.remove(artifact);
      giveUp(artifact);
    }
    return true;
  }

  add(artifact: Artifact, sizeBytes: number): void {
    this.#sizes.set(artifact, sizeBytes);
  }

  /** Marks a file as used now, so that others give way before it. */
  use(artifact: Artifact): void {
    const size = this.#sizes.get(artifact);
    if (size === undefined) return;
    this.#sizes.delete(artifact);
    this.#sizes.set(artifact, size);
  }

  remove(artifact: Artifact): void {
    this.#sizes.delete(artifact);
  }
}
