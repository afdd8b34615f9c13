import { LRUCache } from 'lru-cache';
import type { Artifact } from './artifact.ts';
import type { Reader } from './reader.ts';

interface ArtifactShelfOptions {
  /** More than this is too much, of all files together; a few artifacts always have room. */
  readonly maxBytes: number;
  /** Number of artifacts that are kept however large they are. */
  readonly always: number;
  /** Called with each artifact that is no longer needed. */
  readonly remove: (artifact: Artifact) => Promise<void>;
}

/**
 * The artifacts whose files exist: growing ones, shared ones, and ones that are no longer shared but still read.
 *
 * Where there are too many bytes, those that nobody reads go, the longest unused first. Then readers give way: those whose address
 * holds several, and more than the one that needs room; and those that are slow.
 */
export class ArtifactShelf {
  readonly #options: ArtifactShelfOptions;
  readonly #growing = new Set<Artifact>();
  /** By build id. The newest stays however large it is, so that it can be shared at all. */
  readonly #finished: LRUCache<string, Artifact>;
  #finishedBytes = 0;
  /** Shared no more, and read. */
  readonly #leaving = new Set<Artifact>();

  constructor(options: ArtifactShelfOptions) {
    this.#options = options;
    const { maxBytes } = options;
    this.#finished = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ sizeBytes }) => Math.min(sizeBytes, maxBytes),
      dispose: (artifact) => this.#leave(artifact)
    });
  }

  /** Size of all files together. */
  get bytes(): number {
    return [...this.#growing, ...this.#leaving].reduce((sum, { sizeBytes }) => sum + sizeBytes, this.#finishedBytes);
  }

  /** Returns the artifacts that may be shared or resumed. */
  list(): Artifact[] {
    return [...this.#growing, ...this.#finished.values()];
  }

  get growing(): ReadonlySet<Artifact> {
    return this.#growing;
  }

  grow(artifact: Artifact): void {
    this.#growing.add(artifact);
  }

  /** Forgets an artifact whose build has failed: its file is not kept. */
  fail(artifact: Artifact): void {
    this.#growing.delete(artifact);
  }

  finish(artifact: Artifact): void {
    this.#growing.delete(artifact);
    this.#finishedBytes += artifact.sizeBytes;
    this.#finished.set(artifact.buildId, artifact);
  }

  /** Marks an artifact as used now, so that others go before it. */
  use({ buildId }: Artifact): void {
    this.#finished.get(buildId);
  }

  /** Shares an artifact no more. */
  drop({ buildId }: Artifact): void {
    this.#finished.delete(buildId);
  }

  /**
   * Makes room for more bytes, if there is too little.
   *
   * @param address the caller's; null: a running build
   * @returns false when there is none
   */
  makeRoom(neededBytes: number, address: string | null): boolean {
    const isOver = () => this.bytes + neededBytes > this.#options.maxBytes;
    if (!isOver()) return true;
    for (const artifact of this.#oldestFirst()) if (!artifact.inUse && isOver()) this.drop(artifact);
    while (isOver()) {
      const artifact = (address !== null && this.#ofGreedy(address)) || this.#ofSlow();
      if (!artifact) break;
      this.#cut(artifact);
    }
    return !isOver() || this.#read().length + this.#growing.size < this.#options.always;
  }

  #oldestFirst(): Artifact[] {
    return [...this.#finished.rvalues()].filter((artifact) => artifact !== undefined);
  }

  /** Returns the complete artifacts that are being read. */
  #read(): Artifact[] {
    return [...this.#leaving, ...this.#oldestFirst()].filter(({ inUse }) => inUse);
  }

  /** Finds the oldest artifact whose readers' addresses all hold several, and more than this address. */
  #ofGreedy(address: string): Artifact | undefined {
    const held = new Map<string, { artifacts: number; bytes: number }>();
    const read = this.#read();
    for (const { readers, sizeBytes } of [...read, ...this.#growing])
      for (const each of addressesOf(readers)) {
        const { artifacts, bytes } = held.get(each) ?? { artifacts: 0, bytes: 0 };
        held.set(each, { artifacts: artifacts + 1, bytes: bytes + sizeBytes });
      }
    const own = held.get(address)?.bytes ?? 0;
    const isGreedy = (each: string) => held.get(each)!.artifacts > 1 && held.get(each)!.bytes > own;
    return read.find(({ readers }) => readers.size > 0 && addressesOf(readers).values().every(isGreedy));
  }

  #ofSlow(): Artifact | undefined {
    return this.#read().find(({ readers }) => readers.size > 0 && readers.values().every(({ isSlow }) => isSlow));
  }

  #cut(artifact: Artifact): void {
    this.drop(artifact);
    this.#leaving.delete(artifact); // it goes at once, whenever its connections know
    for (const reader of [...artifact.readers]) reader.cut();
  }

  #leave(artifact: Artifact): void {
    this.#finishedBytes -= artifact.sizeBytes;
    if (artifact.inUse) this.#leaving.add(artifact);
    void artifact.whenIdle().then(() => {
      this.#leaving.delete(artifact);
      return this.#options.remove(artifact);
    });
  }
}

function addressesOf(readers: ReadonlySet<Reader>): Set<string> {
  return new Set([...readers].map(({ address }) => address));
}
