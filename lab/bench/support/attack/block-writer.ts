import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';

/** Blocks of the database as it is made, from 100 on. */
export const FIRST_BLOCKS = 1_300;
const FIRST_HEIGHT = 100 + FIRST_BLOCKS;
const BLOCK_EVERY_MS = 150;
const WEIGHT_ROWS = 300_000;
const PAGE_ROWS = 50_000;

/** Adds a block every so often, and knows when. */
export class BlockWriter {
  readonly #times = new Map<number, number>();
  #ended = false;

  async run(to: DatabaseCoordinates): Promise<void> {
    const connection = await connect(to);
    for (let height = FIRST_HEIGHT; !this.#ended; height++) {
      const hash = height.toString(16).padStart(64, '0');
      await connection.query('START TRANSACTION');
      await connection.query(`INSERT INTO index_transactions (hash) VALUES ('${hash}')`);
      await connection.query(`INSERT INTO blocks VALUES (${height}, ${height}, LAST_INSERT_ID(), 1)`);
      await connection.query('COMMIT');
      this.#times.set(height, performance.timeOrigin + performance.now());
      await sleep(BLOCK_EVERY_MS);
    }
    await connection.end();
  }

  end(): void {
    this.#ended = true;
  }

  /** Milliseconds from the commit of each block. */
  delays(received: readonly (readonly [height: number, at: number])[]): number[] {
    return received.map(([height, at]) => at - (this.#times.get(height) ?? at));
  }
}

/** Makes snapshots and pages larger than what a kernel takes for who does not read; its block is so old that no new one costs more. */
export async function addWeight(to: DatabaseCoordinates): Promise<void> {
  const connection = await connect(to);
  await connection.query(
    'CREATE TABLE weight (tx_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, block_index INT UNSIGNED NOT NULL, memo CHAR(64) NOT NULL, KEY (block_index))'
  );
  await connection.query(`INSERT INTO weight SELECT seq, 100, SHA2(seq, 256) FROM seq_1_to_${WEIGHT_ROWS}`);
  await connection.query(`INSERT INTO index_transactions (hash) SELECT SHA2(seq, 256) FROM seq_1_to_${PAGE_ROWS}`);
  await connection.end();
}
