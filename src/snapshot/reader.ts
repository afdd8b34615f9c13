import type { Artifact } from './artifact.ts';

/** Who is slower on average, from so long after it came, gives way to others when there is no room. */
const SLOW_BYTES_PER_S = 64 * 1024;
const SLOW_AFTER_MS = 5_000;

/** Somebody who wants an artifact: waits for it, or reads it. */
export class Reader {
  /** Under which it is counted. */
  readonly address: string;
  readonly #cut: (() => void) | undefined;
  readonly #cameAt = performance.now();
  #takenBytes = 0;
  #artifact: Artifact | undefined;
  #isGone = false;

  /** @param cut ends its connection, whereupon `leave` is called; without it the reader keeps nothing */
  constructor(address: string, cut?: () => void) {
    this.address = address;
    this.#cut = cut;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** In bytes a second, since it came. */
  get pace(): number {
    return (this.#takenBytes / (performance.now() - this.#cameAt)) * 1_000;
  }

  get isSlow(): boolean {
    return performance.now() - this.#cameAt > SLOW_AFTER_MS && this.pace < SLOW_BYTES_PER_S;
  }

  took(sizeBytes: number): void {
    this.#takenBytes += sizeBytes;
  }

  /** From now on until it leaves the artifact keeps its file, and its build goes on. */
  enter(artifact: Artifact): void {
    if (!this.#cut || this.#isGone || this.#artifact === artifact) return;
    this.#artifact?.leave(this);
    this.#artifact = artifact;
    artifact.enter(this);
  }

  leave(): void {
    this.#isGone = true;
    this.#artifact?.leave(this);
  }

  cut(): void {
    this.#cut?.();
  }
}
