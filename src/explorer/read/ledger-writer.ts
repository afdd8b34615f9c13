import { lookAtWriter, WriterWatch } from '../../db/writer-lock.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { Alarm } from '../../wire/state/alarm.ts';
import { monotonicMs } from '../../wire/state/monotonic.ts';
import type { Query } from './reader.ts';

/** The indexer of a ledger, as the ledger's database tells of it. */
export class LedgerWriter {
  readonly #watch = new WriterWatch('indexer');
  readonly #database: Pick<DatabaseCoordinates, 'name'>;

  constructor(database: Pick<DatabaseCoordinates, 'name'>) {
    this.#database = database;
  }

  /** Reason why it does not go on; null while it does. */
  get alarm(): Alarm | null {
    return this.#watch.alarm;
  }

  /** Looks at it. @param height the newest block of the ledger */
  async look(query: Query, height: number | null): Promise<void> {
    this.#watch.note(await lookAtWriter(query, 'indexer', this.#database), height, monotonicMs());
  }
}
