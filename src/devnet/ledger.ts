import { setTimeout as sleep } from 'node:timers/promises';
import { connect, quoteName } from '../db/core/connection.ts';
import { PlatformError } from '../errors.ts';
import { createFileLogger } from '../log.ts';
import type { DatabaseCoordinates } from '../wire/database.ts';
import { startLedgerFollower } from './ledger/follower.ts';
import { type DevnetSettings, databaseOn, logPath } from './settings.ts';

/** The writer that plays the indexer, in this process. */
export interface Ledger {
  /** Rejects when it ends by itself; never resolves. */
  readonly death: Promise<never>;
  /** Returns after the block that it writes. */
  stop(): Promise<void>;
}

const POLL_MS = 200;
const READY_DEADLINE_MS = 60_000;

/** Starts the ledger writer and waits until its database has tables. @throws {PlatformError} PROCESS_EXITED */
export async function startLedger(
  { directory, seed }: DevnetSettings,
  server: Omit<DatabaseCoordinates, 'name'>
): Promise<Ledger> {
  const logFile = logPath(directory, 'ledger');
  const log = createFileLogger('ledger', logFile);
  const stopping = new AbortController();
  const { signal } = stopping;
  const [decoder, indexer] = [databaseOn(server, 'decoder'), databaseOn(server, 'indexer')];
  const work = startLedgerFollower({ decoder, indexer, seed, pollMs: POLL_MS, log, signal });
  const death = work.then(
    () => new Promise<never>(() => undefined),
    (caught) => {
      throw PlatformError.from(caught, 'PROCESS_EXITED', { service: 'ledger writer', logFile });
    }
  );
  const stop = async () => {
    stopping.abort();
    await work.catch(() => undefined); // `death` has told it
  };
  try {
    await Promise.race([waitForTables(indexer, logFile), death]);
  } catch (caught) {
    await stop();
    throw caught;
  }
  return { death, stop };
}

/** A source of a database that is not there is refused for good: the sync server is started after. */
async function waitForTables({ name, ...server }: DatabaseCoordinates, logFile: string): Promise<void> {
  const connection = await connect(server);
  const deadline = Date.now() + READY_DEADLINE_MS;
  try {
    for (;;) {
      const caught = await connection.query(`SELECT 1 FROM ${quoteName(name)}.blocks LIMIT 1`).then(
        () => undefined,
        (reason: unknown) => reason
      );
      if (caught === undefined) return;
      if (Date.now() > deadline)
        throw PlatformError.from(caught, 'PROCESS_EXITED', { service: 'ledger writer', logFile });
      await sleep(POLL_MS);
    }
  } finally {
    await connection.end();
  }
}
