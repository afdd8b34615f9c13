import { prefixOf } from '../callers/prefix.ts';

/** Response or request that holds a body, with its connection. */
export interface Holder {
  readonly destroyed: boolean;
  destroy(): unknown;
}

/** A body that is not at its end. */
export interface Held {
  readonly address: string;
  readonly network: string;
  readonly holder: Holder;
  /** Several answers may share one, which takes its room once. */
  body: Pick<Buffer, 'length'>;
  readonly since: number;
  takenBytes: number;
  takenAt: number;
  /** Whether it is at its end: it is never late from then on. */
  isWhole: boolean;
}

/** A body that is counted. */
export interface Part {
  /** Says how much of it is taken, in bytes. */
  progress(bytes: number): void;
  /** Says that it is at its end, and takes so many bytes until it is released. */
  settle(bytes: number): void;
  readonly release: () => void;
}

/** Returns a body that begins now. */
export function heldOf(address: string, holder: Holder, body: Held['body']): Held {
  const since = performance.now();
  return {
    address,
    network: prefixOf(address, 48),
    holder,
    body,
    since,
    takenBytes: 0,
    takenAt: since,
    isWhole: false
  };
}

/** Bodies that are held, each counted once, and their bytes. */
export class Bodies {
  readonly held = new Set<Held>();
  readonly #holders = new Map<Held['body'], number>();
  #bytes = 0;

  add(held: Held): void {
    this.held.add(held);
    const { body } = held;
    const before = this.#holders.get(body) ?? 0;
    this.#holders.set(body, before + 1);
    if (before === 0) this.#bytes += body.length;
  }

  remove(held: Held): void {
    this.held.delete(held);
    const { body } = held;
    const left = this.#holders.get(body)! - 1;
    if (left > 0) return void this.#holders.set(body, left);
    this.#holders.delete(body);
    this.#bytes -= body.length;
  }

  /** Returns their bytes with one body more. */
  bytesWith(body?: Held['body']): number {
    return this.#bytes + (body && !this.#holders.has(body) ? body.length : 0);
  }
}
