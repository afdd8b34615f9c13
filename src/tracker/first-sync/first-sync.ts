import { databaseError, rows, type SqlRow } from '../../db/connection.ts';
import type { ExclusiveDatabase } from '../../db/exclusive-database.ts';
import { type CoinWriter, coinsMissing } from '../coins/coin-writer.ts';
import { SPENT } from '../coins/records.ts';
import type { ReducedChanges } from '../coins/reduce.ts';
import { COINS_OF_SCRIPTS, SPOOL } from '../schema.ts';
import { partByShards, type SpoolPart, shardsFor } from './shards.ts';

/** Progress of a first sync. */
export interface FirstSyncProgress {
  /** Last block to gather before any coin is stored. */
  readonly lastBlock: number;
  readonly shards: number;
  /** Number of shards whose coins are stored. */
  readonly loaded: number;
}

/** Parts that a first sync works with. */
export interface FirstSyncDeps {
  readonly database: ExclusiveDatabase;
  readonly writer: CoinWriter;
  /** Reduces changes. Many records take long, so it should run in another thread. */
  readonly reduce: (changes: ReducedChanges) => Promise<ReducedChanges>;
}

type Spooled = ReducedChanges & SqlRow;

/** Most bytes of one statement. */
const STATEMENT_BYTES = 2 ** 20;

/**
 * The first sync of a long chain.
 *
 * Written block by block, coins would go to random places of tables larger than memory, and most would be deleted soon
 * after. So it first gathers what each group of blocks creates and spends, split into shards. Then it reduces each
 * shard to the coins that remain, and stores them in the order of the table's key.
 *
 * Each step is one transaction. After a kill, the next start continues with the next step. No step needs more memory
 * than one group of blocks or two shards.
 */
export class FirstSync {
  readonly #deps: FirstSyncDeps;
  #progress: FirstSyncProgress;
  #ahead: { readonly shard: number; readonly changes: Promise<ReducedChanges> } | undefined;

  private constructor(deps: FirstSyncDeps, progress: FirstSyncProgress) {
    this.#deps = deps;
    this.#progress = progress;
  }

  /** Returns the first sync that a database is in; null when there is none. */
  static async open(deps: FirstSyncDeps): Promise<FirstSync | null> {
    const [found] = await deps.database.query<FirstSyncProgress & SqlRow>(
      'SELECT last_block AS lastBlock, shards, loaded FROM first_sync'
    );
    return found ? new FirstSync(deps, { ...found }) : null;
  }

  /** Begins the first sync of an empty database. @param lastBlock last block to gather */
  static async begin(deps: FirstSyncDeps, lastBlock: number): Promise<FirstSync> {
    const { database } = deps;
    const shards = shardsFor(lastBlock);
    await database.query(SPOOL);
    await database.query('INSERT INTO first_sync (id, last_block, shards, loaded) VALUES (1, ?, ?, 0)', [
      lastBlock,
      shards
    ]);
    return new FirstSync(deps, { lastBlock, shards, loaded: 0 });
  }

  get progress(): FirstSyncProgress {
    return this.#progress;
  }

  /** Stores the records of a group of blocks within the caller's transaction. @param height of its last block */
  async gather(height: number, changes: ReducedChanges): Promise<void> {
    let list: string[] = [];
    let bytes = 0;
    const write = async () => {
      if (list.length > 0) await this.#deps.database.query(`INSERT INTO first_sync_spool VALUES ${list.join()}`);
      [list, bytes] = [[], 0];
    };
    for (const part of partByShards(changes, this.#progress.shards)) {
      const text = rowOf(height, part);
      if (bytes + text.length > STATEMENT_BYTES) await write();
      list.push(text);
      bytes += text.length;
    }
    await write();
  }

  /**
   * Stores the coins of the next shard. After the last shard, creates the index of scripts.
   *
   * @returns whether the first sync is complete
   * @throws {PlatformError} DATABASE_UNAVAILABLE; DATABASE_UNUSABLE when a spent coin was never created
   */
  async loadNext(): Promise<boolean> {
    const { database, writer } = this.#deps;
    const { loaded: shard, shards } = this.#progress;
    if (shard === shards) {
      await this.#finish();
      return true;
    }
    const { made, spent, scripts } = await this.#shard(shard);
    if (spent.length > 0) throw coinsMissing(spent.length / SPENT.sizeBytes);
    if (shard + 1 < shards) this.#shard(shard + 1).catch(() => undefined); // rethrown when it is its turn
    await database.transaction(async () => {
      await writer.insertCoins(made);
      await writer.insertScripts(scripts);
      await database.query('UPDATE first_sync SET loaded = ?', [shard + 1]);
    });
    this.#progress = { ...this.#progress, loaded: shard + 1 };
    return false;
  }

  /** Returns the reduced records of a shard, computed once. */
  #shard(shard: number): Promise<ReducedChanges> {
    if (this.#ahead?.shard !== shard) this.#ahead = { shard, changes: this.#reduceShard(shard) };
    return this.#ahead.changes;
  }

  async #reduceShard(shard: number): Promise<ReducedChanges> {
    const { database, reduce } = this.#deps;
    const sql = 'SELECT made, spent, scripts FROM first_sync_spool WHERE shard = ? ORDER BY block_index, part';
    const parts = await rows<Spooled>(database.pool, sql, [shard]).catch((caught: unknown) => {
      throw databaseError(caught);
    });
    return await reduce({
      made: Buffer.concat(parts.map(({ made }) => made)),
      spent: Buffer.concat(parts.map(({ spent }) => spent)),
      scripts: Buffer.concat(parts.map(({ scripts }) => scripts))
    });
  }

  async #finish(): Promise<void> {
    const { database } = this.#deps;
    await database.queryWithoutLimit(COINS_OF_SCRIPTS);
    await database.queryWithoutLimit('DROP TABLE IF EXISTS first_sync_spool');
    await database.query('DELETE FROM first_sync');
  }
}

const rowOf = (height: number, { shard, part, made, spent, scripts }: SpoolPart): string =>
  `(${shard},${height},${part},X'${made.toString('hex')}',X'${spent.toString('hex')}',X'${scripts.toString('hex')}')`;
