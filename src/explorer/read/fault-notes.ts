import { hasCode, type PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';

/** Most faults that are logged. */
const MOST_NOTED = 100;

/** Log of the faults of statements: each one once, for callers may ask again and again. */
export class FaultNotes {
  readonly #log: Pick<Logger, 'error'>;
  readonly #noted = new Set<string>();

  constructor(log: Pick<Logger, 'error'>) {
    this.#log = log;
  }

  /** Logs a fault of a statement. @throws what it is given */
  note(caught: unknown): never {
    if (hasCode(caught, 'TABLE_LACKING') || hasCode(caught, 'STATEMENT_REFUSED')) {
      const { code, detail } = caught as PlatformError;
      const reason = `${code}: ${String(detail['reason'])}`;
      const isNew = !this.#noted.has(reason) && this.#noted.size < MOST_NOTED;
      if (isNew) {
        this.#log.error({ err: caught }, reason);
        this.#noted.add(reason);
      }
    }
    throw caught;
  }
}
