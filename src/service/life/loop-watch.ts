import type { ActorView } from '../../wire/state/actor-view.ts';
import type { ActorReport } from '../../wire/state/report.ts';

/** A thread sends a beacon each second. One that sends none for so long is not relied on, in milliseconds. */
const SILENT_MS = 8_000;

/**
 * Tells when a loop cannot be relied on, though its last report looks well: its thread is down, says nothing, or was
 * started again and has got no further since.
 */
export class LoopWatch {
  #height: number | null = null;
  /** The start of its thread in which it was last well. */
  #wellIn = Number.NEGATIVE_INFINITY;
  /** Whether its last report says by itself why it does not go on. */
  #tells = false;

  /**
   * Notes a report: a loop that writes a block, or has none to write, is well.
   *
   * @param generation the start of the thread that reports @param isProof whether the report shows it by itself
   */
  note(
    { height, lagBlocks, lastError }: Pick<ActorReport, 'height' | 'lagBlocks' | 'lastError'>,
    generation: number,
    isProof = false
  ): void {
    const isFurther = height !== null && this.#height !== null && height > this.#height;
    if (isProof || isFurther || lagBlocks === 0) this.#wellIn = generation;
    this.#height = height;
    this.#tells = lastError !== null;
  }

  /** Returns the reason not to rely on it; null while there is none. */
  faultOf({
    state,
    reason,
    beacon,
    restarts
  }: Pick<ActorView, 'state' | 'reason' | 'beacon' | 'restarts'>): string | null {
    if (state === 'starting' && reason === null && restarts.total === 0) return null;
    if (state !== 'running' && state !== 'starting') return reason?.message ?? `its thread is ${state}`;
    // An operator ends a thread on purpose.
    const death = restarts.causes.findLast(({ cause }) => cause !== 'killed');
    if (death && death.generation >= this.#wellIn && !this.#tells)
      return `its thread ended (${death.cause}: ${death.reason}) and has written no block since`;
    const silentMs = beacon?.silentMs ?? 0;
    if (silentMs < SILENT_MS) return null;
    return `its thread has not answered for ${Math.floor(silentMs / 1_000)} s: it computes without a pause, or has no core`;
  }
}
