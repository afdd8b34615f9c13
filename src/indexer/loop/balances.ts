import { type Connection, connect, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { StateTracker, type TrackerOptions } from '../../replication/commitment/state-tracker.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';

/**
 * Longest time in which groups that waited for the first tree are added at once: the next block must not wait for them.
 */
const DRAIN_MS = 250;

/** Tree over an indexer's balances. It is begun when the indexer has caught up, so that it does not slow a catch-up. */
export class IndexedBalances extends StateTracker {
  readonly #database: DatabaseCoordinates;
  readonly #statementLimitS: number;
  readonly #log: Logger;

  constructor(
    options: Omit<TrackerOptions, 'isCutGroupLost'> & {
      readonly database: DatabaseCoordinates;
      readonly statementLimitS: number;
    }
  ) {
    super({ ...options, isCutGroupLost: true });
    this.#database = options.database;
    this.#statementLimitS = options.statementLimitS;
    this.#log = options.log;
  }

  /**
   * Works between two groups: begins the first tree, and adds the groups that waited for it. @param height height of
   * the newest block
   */
  async rest(height: number): Promise<void> {
    await this.drain(DRAIN_MS);
    if (!this.isWanted) return;
    let connection: Connection | undefined;
    try {
      connection = await connect(this.#database, { statementLimitS: this.#statementLimitS });
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      const [tip] = await rows<{ height: number }>(connection, 'SELECT MAX(block_index) AS height FROM blocks');
      if (Number(tip?.height) !== height)
        throw new PlatformError('INTERNAL', { reason: `the newest block is not ${height}` });
      this.begin(connection, height);
    } catch (caught) {
      connection?.destroy();
      this.#log.warn({ err: caught }, 'the balance tree could not be started; retrying after the next poll');
    }
  }
}
