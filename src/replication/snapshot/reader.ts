/** A reader that takes no block (256 KiB) of a complete artifact for this long is cut when there is no room. */
const SLOW_AFTER_MS = 5_000;
/** A reader that leaves this soon after its first block probably never meant to read: few links break just then. */
const AT_ONCE_MS = 500;

/** An artifact, as its reader sees it. */
interface Read {
  /** Time by `performance.now()`; null while it grows. */
  readonly completeAt: number | null;
  enter(reader: Reader): void;
  leave(reader: Reader): void;
}

/** A caller that waits for an artifact or reads it. */
export class Reader {
  /** Address under which it is counted. */
  readonly address: string;
  readonly #cut: (() => void) | undefined;
  #tookFirstAt: number | null = null;
  #tookAt = performance.now();
  #artifact: Read | undefined;
  #isGone = false;

  /** @param cut ends its connection, whereupon `leave` is called; without it the reader keeps nothing */
  constructor(address: string, cut?: () => void) {
    this.address = address;
    this.#cut = cut;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether it leaves soon after its first block, if it leaves now. */
  get leavesAtOnce(): boolean {
    return performance.now() - (this.#tookFirstAt ?? Number.POSITIVE_INFINITY) < AT_ONCE_MS;
  }

  get isSlow(): boolean {
    const couldTakeAt = this.#artifact?.completeAt ?? Number.POSITIVE_INFINITY;
    return performance.now() - Math.max(this.#tookAt, couldTakeAt) > SLOW_AFTER_MS;
  }

  /** Notes that the reader has taken a block; bytes in the system's buffers count as taken. */
  tookBlock(): void {
    this.#tookAt = performance.now();
    this.#tookFirstAt ??= this.#tookAt;
  }

  /** Enters an artifact, which keeps its file and goes on with its build until the reader leaves. */
  enter(artifact: Read): void {
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
