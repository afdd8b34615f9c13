import type { Logger } from '../../../src/log.ts';

const TICK_MS = 1_000;
/** Ticks from one question to the database to the next. */
const ASK_TICKS = 3;
/** A server that answers nothing for so long is told; a busy one answers this statement at once. */
export const SILENT_MS = 5_000;
/** An attempt that fails sooner was refused, which others tell. */
const REFUSED_MS = 3_000;
/** A question that waits longer should fail, so that another connection is tried. */
export const PULSE_LIMIT_MS = 10_000;

interface PulseOptions {
  /** Asks the server for anything, on a connection that serves nothing else. */
  readonly ask: () => Promise<unknown>;
  readonly log: Logger;
  /** Host and port, or socket, for the log. */
  readonly place: string;
  /** Called when it falls silent, and when it answers again. */
  readonly changed: () => void;
  /** Called with each tick. */
  readonly ticked?: () => void;
}

/**
 * Asks a MariaDB server every few seconds whether it still answers: one that is stopped, or whose disk hangs, ends no statement and no
 * connection.
 */
export class DatabasePulse {
  readonly #options: PulseOptions;
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #silentMs = 0;
  #isAsking = false;
  #isTold = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Seconds for which it has answered nothing; 0: it answers, or refuses, which others tell. */
  get silentS(): number {
    return this.#silentMs < SILENT_MS ? 0 : Math.round(this.#silentMs / 1_000);
  }

  /** Says so, with what to look at; null while it answers. */
  get reason(): string | null {
    if (this.silentS === 0) return null;
    return `MariaDB at ${this.#options.place} has answered nothing for ${this.silentS} s: see whether it is stopped or its disk hangs; all goes on when it answers`;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Counts a tick of silence, by ticks and not by time: a thread that was busy itself has not waited for an answer. */
  #tick(): void {
    if (this.#isAsking) {
      this.#silentMs += TICK_MS;
      this.#tell();
    } else if (++this.#ticks % ASK_TICKS === 0) void this.#ask();
    this.#options.ticked?.();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const began = performance.now();
    try {
      await this.#options.ask();
      this.#silentMs = 0;
    } catch {
      // After a silence only an answer says that it is over.
      if (this.#silentMs < SILENT_MS && performance.now() - began < REFUSED_MS) this.#silentMs = 0;
    } finally {
      this.#isAsking = false;
      this.#tell();
    }
  }

  #tell(): void {
    const { log, changed, place } = this.#options;
    const isSilent = this.silentS > 0;
    if (isSilent === this.#isTold) return;
    this.#isTold = isSilent;
    if (isSilent) log.error(this.reason!);
    else log.info(`MariaDB at ${place} answers again`);
    changed();
  }
}
