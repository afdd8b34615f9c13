import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import type { RowsAndBlocks } from './history.ts';
import { createLedger, type Ledger, openLedger } from './ledger.ts';

/** Initial content of a generated database. */
export interface GeneratedSize extends RowsAndBlocks {
  readonly seed: string;
}

/** Functions by which tests make a database of one kind and let it grow, each call over a connection of its own. */
export interface Growth {
  /** Fills a database with blocks from 100 on. */
  create(to: DatabaseCoordinates, size: GeneratedSize): Promise<void>;
  /** Adds blocks, each in a database transaction of its own, with a pause after each. @returns the new height */
  appendBlocks(to: DatabaseCoordinates, count: number, seed: string, pauseMs?: number): Promise<number>;
  /** Adds blocks in one database transaction, so that a poll sees them all at once. @returns the new height */
  appendBacklog(to: DatabaseCoordinates, count: number, seed: string): Promise<number>;
  /** Takes back the newest `depth` blocks and adds `count` others, each step committed by itself. @returns the new height */
  reorg(to: DatabaseCoordinates, depth: number, count: number, seed: string): Promise<number>;
}

/** Growth of one kind of database, late changes included. */
export function growthOf(dbType: DbType): Growth {
  const opened = async (
    to: DatabaseCoordinates,
    seed: string,
    work: (ledger: Ledger) => Promise<unknown>
  ): Promise<number> => {
    const connection = await connect(to);
    try {
      const ledger = await openLedger(connection, { dbType, seed });
      await work(ledger);
      return ledger.height;
    } finally {
      connection.destroy();
    }
  };
  return {
    async create(to, { seed, ...size }) {
      const connection = await connect(to);
      await createLedger(connection, { dbType, seed, size }).finally(() => connection.destroy());
    },
    appendBlocks: (to, count, seed, pauseMs = 0) =>
      opened(to, seed, async (ledger) => {
        for (let done = 0; done < count; done += 1) {
          await ledger.writeBlock({ late: 'random' });
          if (pauseMs > 0) await sleep(pauseMs);
        }
      }),
    appendBacklog: (to, count, seed) =>
      opened(to, seed, (ledger) => ledger.writeBlocks(count, { late: 'random' }, true)),
    reorg: (to, depth, count, seed) => opened(to, seed, (ledger) => ledger.reorg(depth, { count, late: 'random' }))
  };
}
