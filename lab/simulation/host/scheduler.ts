import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Random } from '../../../src/devnet/random.ts';

/** One simulated thread, from its start to its death; what a dead one was about to do is never done. */
export interface Life {
  isAlive: boolean;
}

/** The simulated thread that runs now; undefined for the main thread. What it awaits goes on in it. */
export const current = new AsyncLocalStorage<Life>();

const MAX_JUMP_MS = 6 * 3_600_000;
const settle = setImmediate;

export interface Appointment {
  readonly at: number;
  readonly order: number;
  readonly work: () => unknown;
  readonly life: Life | null;
  isCancelled: boolean;
}

/**
 * Time, and the order of everything that happens in it: one step takes the next appointment, sets the clock to it, and lets all
 * promises come to rest. Two runs of one seed take the same steps.
 */
export class Scheduler {
  readonly random: Random;
  /** Offset of the wall clock from the beginning; it may jump. */
  wallOffsetMs = Date.UTC(2026, 0, 1);
  steps = 0;
  #now = 0;
  #order = 0;
  readonly #heap: Appointment[] = [];
  readonly #trace = createHash('sha256');

  constructor(random: Random) {
    this.random = random;
  }

  /** Milliseconds since the beginning; they only grow. */
  get now(): number {
    return this.#now;
  }

  get wallTime(): number {
    return Math.floor(this.wallOffsetMs + this.#now);
  }

  /** Equal for runs that took the same steps. */
  get trace(): string {
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  /** The clock on the wall is set, back or ahead. */
  jump(): void {
    this.wallOffsetMs += this.delay(-MAX_JUMP_MS, MAX_JUMP_MS);
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  /** A time between two bounds. */
  delay(min: number, max: number): number {
    return min + this.random.next() * (max - min);
  }

  /** @param life in which it happens, if it still lives then; null: whatever becomes of whoever asks */
  after(delayMs: number, work: () => unknown, life: Life | null = current.getStore() ?? null): Appointment {
    const delay = Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
    const appointment = { at: this.#now + delay, order: this.#order++, work, life, isCancelled: false };
    push(this.#heap, appointment);
    return appointment;
  }

  /** @returns false when nothing is left to happen */
  async step(): Promise<boolean> {
    for (;;) {
      const next = pop(this.#heap);
      if (!next) return false;
      if (next.isCancelled || next.life?.isAlive === false) continue;
      this.#now = Math.max(this.#now, next.at);
      this.steps++;
      this.#trace.update(`${next.order} ${next.at}\n`);
      const done = next.life ? current.run(next.life, next.work) : current.exit(next.work);
      if (done instanceof Promise) await done;
      await new Promise<void>((resolve) => settle(resolve));
      return true;
    }
  }
}

const isBefore = (a: Appointment, b: Appointment) => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Appointment[], item: Appointment): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(item, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = item;
}

function pop(heap: Appointment[]): Appointment | undefined {
  const top = heap[0];
  const last = heap.pop();
  if (!top || !last || heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return top;
}
