import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../db/core/connection.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/database.ts';
import { type LedgerBlock, type LedgerTransaction, LedgerWriter, ledgerError } from './writer.ts';

export interface FollowerOptions {
  readonly decoder: DatabaseCoordinates;
  /** Made with its tables when it is missing. */
  readonly indexer: DatabaseCoordinates;
  readonly seed: string;
  readonly pollMs: number;
  readonly log: Logger;
  /** Ends it after the block that it writes. */
  readonly signal: AbortSignal;
}

/** Blocks read from the decoder at once; each is committed by itself. */
const BLOCKS_PER_READ = 50;

/**
 * Follows a decoder database block by block and reorg by reorg, writing what an indexer would.
 *
 * May be stopped, killed and started again at any moment: where it stands is read from the indexer database.
 * Reorgs are found by comparing block hashes with the decoder's in one snapshot, which also covers REORG events missed while away.
 *
 * @returns when the signal aborts  @throws {PlatformError} INTERNAL when the ledger's sums disagree; what the database refuses is tried again
 */
export async function startLedgerFollower({ signal, pollMs, log, ...options }: FollowerOptions): Promise<void> {
  let session: Session | undefined;
  let complaint = '';
  while (!signal.aborted) {
    let moved = false;
    try {
      session ??= await Session.open(options, log);
      moved = await session.follow(signal);
      complaint = '';
    } catch (caught) {
      const error = ledgerError(caught);
      session?.destroy();
      session = undefined;
      if (error.code === 'INTERNAL') throw error;
      if (error.message !== complaint) log.warn({ reason: error.message }, 'ledger writer waits');
      complaint = error.message;
    }
    if (!moved) await sleep(pollMs, undefined, { signal }).catch(() => undefined); // aborted: the loop ends
  }
  await session?.close();
}

/** One connection to each database, thrown away together when either fails. */
class Session {
  readonly #decoder: Connection;
  readonly #writer: LedgerWriter;
  readonly #log: Logger;

  private constructor(decoder: Connection, writer: LedgerWriter, log: Logger) {
    this.#decoder = decoder;
    this.#writer = writer;
    this.#log = log;
  }

  static async open(
    { decoder, indexer, seed }: Pick<FollowerOptions, 'decoder' | 'indexer' | 'seed'>,
    log: Logger
  ): Promise<Session> {
    const connection = await connect(decoder, { statementLimitS: 30 });
    try {
      return new Session(connection, await LedgerWriter.open(indexer, seed), log);
    } catch (caught) {
      connection.destroy();
      throw caught;
    }
  }

  /** Takes back what the decoder no longer has and writes what it has more. @returns whether anything changed */
  async follow(signal: AbortSignal): Promise<boolean> {
    await this.#decoder.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const moved = await this.#leaveDeadBranch();
    const blocks = await this.#readBlocks(((await this.#writer.height()) ?? -1) + 1);
    await this.#decoder.query('COMMIT');
    for (const block of blocks) {
      if (signal.aborted) return true;
      await this.#writer.writeBlocks([block]);
      this.#log.debug({ block_index: block.height }, 'ledger wrote a block');
    }
    return moved || blocks.length > 0;
  }

  async #leaveDeadBranch(): Promise<boolean> {
    const tip = await this.#writer.height();
    const [lowest] = await rows<{ height: number | null }>(
      this.#decoder,
      'SELECT MIN(block_index) AS height FROM blocks'
    );
    if (tip === undefined || lowest?.height == null) return false;
    let shared = tip;
    while (shared >= lowest.height && !(await this.#isShared(shared))) shared--;
    if (shared === tip) return false;
    await this.#writer.rollback(shared + 1);
    this.#log.info({ from: tip, to: shared }, 'ledger rolled back');
    return true;
  }

  async #isShared(height: number): Promise<boolean> {
    const [block] = await rows<{ hash: string }>(
      this.#decoder,
      'SELECT hash FROM blocks JOIN index_transactions ON id = block_hash_id WHERE block_index = ?',
      [height]
    );
    return block !== undefined && block.hash === (await this.#writer.blockHash(height));
  }

  async #readBlocks(from: number): Promise<LedgerBlock[]> {
    const blocks = await rows<{ height: number; time: number; hash: string }>(
      this.#decoder,
      'SELECT block_index AS height, block_time AS time, hash FROM blocks JOIN index_transactions ON id = block_hash_id WHERE block_index >= ? ORDER BY block_index LIMIT ?',
      [from, BLOCKS_PER_READ]
    );
    const last = blocks.at(-1);
    if (!last) return [];
    const transactions = await rows<LedgerTransaction & { height: number; [column: string]: unknown }>(
      this.#decoder,
      `SELECT t.block_index AS height, h.hash, a.address AS source, t.fee, NULLIF(t.data, '') AS data FROM transactions t
       JOIN index_transactions h ON h.id = t.tx_hash_id JOIN index_addresses a ON a.id = t.source_id
       WHERE t.block_index BETWEEN ? AND ? ORDER BY t.tx_index`,
      [from, last.height]
    );
    const byHeight = Map.groupBy(transactions, ({ height }) => height);
    return blocks.map((block) => ({ ...block, transactions: byHeight.get(block.height) ?? [] }));
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#decoder.end();
  }

  destroy(): void {
    this.#writer.destroy();
    this.#decoder.destroy();
  }
}
