import type { Connection } from '../../../src/db/connection.ts';
import type { DbType } from '../../../src/wire/data/database.ts';
import type { ActionShape } from './actions.ts';
import type { ChainName, Setting } from './block-context.ts';
import { createTables, definitionsOf, type TableOptions } from './create-tables.ts';
import type { DecoderLateKind } from './decoder-late-changes.ts';
import { addEmptyText, DecoderWriter } from './decoder-writer.ts';
import { addHistory, type Size } from './history.ts';
import { addFirstValues, IndexerWriter } from './indexer-writer.ts';
import type { Change, LateKind } from './late-changes.ts';
import { writeNodeRows } from './node-rows.ts';

/** First height of every ledger. */
export const FIRST_HEIGHT = 100;
export const GENESIS_TIME = 1_700_000_000;

export interface LedgerOptions extends TableOptions {
  /** Decides every row but surrogate ids that AUTO_INCREMENT deals. */
  readonly seed: string;
  /** Content before the first block is written here: see `Size`. Default `none`. */
  readonly size?: Size;
  /** Default `bitcoin`. */
  readonly chain?: ChainName;
}

/** Content of the next block. */
export interface BlockRequest {
  /** Actions of an indexer, transactions of a decoder; `each`: one of each kind; or the kinds by name or shape. Default: some, or none. */
  readonly actions?: number | 'each' | readonly (string | ActionShape)[];
  /** Changes of older rows, each of a kind and so many blocks deep or a little deeper; `random`: up to three. Default none. */
  readonly late?: readonly { readonly kind: LateKind | DecoderLateKind; readonly depth: number }[] | 'random';
  /** Kinds that `random` leaves out. */
  readonly without?: readonly string[];
}

export interface WrittenBlock {
  readonly height: number;
  /** Rows of older blocks, and of none, that the block wrote, changed or deleted because it was asked to, or because a cooldown ended. */
  readonly changes: readonly Change[];
}

interface ReorgRequest {
  /** Blocks of the new branch; default one more than go. */
  readonly count?: number;
  readonly late?: 'random';
  readonly without?: readonly string[];
  /** Old blocks and the new branch in one transaction: nobody sees the fork. */
  readonly together?: boolean;
}

/** A database of the tables in use, written as its owner writes it. */
export interface Ledger {
  readonly dbType: DbType;
  /** Height of the newest block. */
  readonly height: number;
  /** Writes one block in one transaction. */
  writeBlock(request?: BlockRequest): Promise<WrittenBlock>;
  /**
   * Writes a backlog.
   *
   * @param together all in one transaction, as a decoder may while it catches up
   * @param whileHeld called before that transaction is committed
   */
  writeBlocks(
    count: number,
    request?: BlockRequest,
    together?: boolean,
    whileHeld?: () => Promise<void>
  ): Promise<WrittenBlock[]>;
  /** Takes back the newest blocks and writes others. */
  reorg(depth: number, request?: ReorgRequest): Promise<WrittenBlock[]>;
  /** Takes back the newest blocks. */
  undo(depth: number): Promise<void>;
  /** Writes the rows of the node's own subscriptions and queues between blocks. */
  writeNodeRows(): Promise<void>;
}

/** Makes all tables of an empty database, with history of a size. The connection stays the caller's and must serve nothing else meanwhile. */
export async function createLedger(connection: Connection, options: LedgerOptions): Promise<Ledger> {
  await createTables(connection, options);
  const setting = settingOf(connection, options);
  if (options.dbType === 'indexer') await addFirstValues(setting);
  else await addEmptyText(connection);
  await addHistory(setting, options.dbType, options.size ?? 'none');
  return openLedger(connection, options);
}

/** Goes on in a database that `createLedger` made with the same options. */
export async function openLedger(connection: Connection, options: LedgerOptions): Promise<Ledger> {
  const setting = settingOf(connection, options);
  const writer = options.dbType === 'indexer' ? await IndexerWriter.open(setting) : await DecoderWriter.open(setting);
  return new LedgerOfDatabase(options.dbType, setting, writer);
}

function settingOf(connection: Connection, options: LedgerOptions): Setting {
  const { seed, chain = 'bitcoin', age } = options;
  return { connection, tables: definitionsOf(options), seed, chain, isOld: age === 'old' };
}

class LedgerOfDatabase implements Ledger {
  readonly dbType: DbType;
  readonly #setting: Setting;
  readonly #writer: IndexerWriter | DecoderWriter;

  constructor(dbType: DbType, setting: Setting, writer: IndexerWriter | DecoderWriter) {
    this.dbType = dbType;
    this.#setting = setting;
    this.#writer = writer;
  }

  get height(): number {
    return this.#writer.height;
  }

  async writeBlock(request: BlockRequest = {}): Promise<WrittenBlock> {
    const [written] = await this.writeBlocks(1, request);
    return written!;
  }

  async writeBlocks(
    count: number,
    request: BlockRequest = {},
    together = false,
    whileHeld?: () => Promise<void>
  ): Promise<WrittenBlock[]> {
    const written: WrittenBlock[] = [];
    const writeNext = async () => void written.push(await this.#writer.writeBlock(request));
    if (together)
      await this.#inTransaction(async () => {
        await times(count, writeNext);
        await whileHeld?.();
      });
    else await times(count, () => this.#inTransaction(writeNext));
    await this.#afterBlocks();
    return written;
  }

  async reorg(
    depth: number,
    { count = depth + 1, together = false, ...request }: ReorgRequest = {}
  ): Promise<WrittenBlock[]> {
    if (!together) {
      await this.undo(depth);
      return this.writeBlocks(count, request);
    }
    const written: WrittenBlock[] = [];
    await this.#inTransaction(async () => {
      await this.#writer.undo(depth);
      await times(count, async () => void written.push(await this.#writer.writeBlock(request)));
    });
    await this.#afterBlocks();
    return written;
  }

  undo(depth: number): Promise<void> {
    return this.#inTransaction(() => this.#writer.undo(depth));
  }

  async writeNodeRows(): Promise<void> {
    await writeNodeRows(this.#setting, this.dbType, this.height);
  }

  async #afterBlocks(): Promise<void> {
    if (this.#writer instanceof DecoderWriter) await this.#writer.pruneDispensers();
  }

  async #inTransaction(work: () => Promise<void>): Promise<void> {
    const { connection } = this.#setting;
    await connection.query('START TRANSACTION');
    await work();
    await connection.query('COMMIT');
  }
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  for (let done = 0; done < count; done += 1) await work();
}
