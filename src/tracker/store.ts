import { ChainDatabase } from '../chain/database.ts';
import type { BlockRef, BlockStore } from '../chain/work.ts';
import type { SqlRow } from '../db/core/connection.ts';
import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/database.ts';
import { type BlockChanges, type MadeCoin, madeCoins, spentOutpoints } from './changes.ts';
import { CoinReader } from './coin-reader.ts';
import { SCHEMA } from './schema.ts';

export interface TrackerStoreOptions {
  readonly queryTimeoutMs?: number;
  /** Blocks that may be rolled back. */
  readonly undoDepth: number;
  /** Height of the node's tip; null: not known. Blocks far below it are written without what a rollback needs. */
  readonly nodeHeight: () => number | null;
}

/** Blocks of one transaction at most. @see the section "Limits" of the specification */
export const MOST_GROUP_BLOCKS = 200;

/** Rows of one INSERT, and places of one DELETE. */
const ROWS = 1_000;
/** Blocks above those that may be rolled back for which it is kept all the same: a node may come back a little lower. */
const UNDO_MARGIN = 200;

/** Opens a tracker's database, making what is missing. @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE */
export async function openTrackerStore(
  database: DatabaseCoordinates,
  options: TrackerStoreOptions
): Promise<TrackerStore> {
  const { queryTimeoutMs } = options;
  const opened = await ChainDatabase.open(database, {
    service: 'tracker',
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
    prepare: async (writer) => {
      for (const statement of SCHEMA) await writer.query(statement);
    }
  });
  return new TrackerStore(opened, options);
}

interface GroupCoin extends MadeCoin {
  readonly height: number;
}

/** What a group of blocks does to the stored set, what it makes and spends itself left out. */
interface GroupChanges {
  readonly made: ReadonlyMap<string, GroupCoin>;
  /** Places of stored coins, by the height of the block that spends them. */
  readonly gone: ReadonlyMap<number, readonly Buffer[]>;
  /** Coins that the group made and spent, with the height of the block that spent them. */
  readonly passing: readonly (GroupCoin & { readonly spentAt: number })[];
  readonly scripts: ReadonlyMap<string, { readonly hash: Buffer; readonly first: number; received: bigint }>;
}

/** The unspent outputs of one chain, block by block. */
export class TrackerStore implements BlockStore<BlockChanges> {
  readonly database: ChainDatabase;
  readonly coins: CoinReader;
  readonly #options: TrackerStoreOptions;

  constructor(database: ChainDatabase, options: TrackerStoreOptions) {
    this.database = database;
    this.#options = options;
    this.coins = new CoinReader(database.pool);
  }

  async readTip(): Promise<BlockRef | null> {
    return (await this.#readBlocks('', [], 1))[0] ?? null;
  }

  async readBlocksBelow(height: number, limit: number): Promise<readonly BlockRef[]> {
    return await this.#readBlocks('WHERE block_index < ?', [height], limit);
  }

  async writeBlocks(blocks: readonly BlockChanges[]): Promise<void> {
    const changes = changesOf(blocks);
    const last = blocks.at(-1)!.height;
    const undoFrom = (this.#options.nodeHeight() ?? last) - this.#options.undoDepth - UNDO_MARGIN;
    const isKept = (height: number) => height >= undoFrom;
    await this.database.transaction(async () => {
      await this.#keepUndo(changes, blocks, isKept);
      await this.#spend([...changes.gone.values()].flat());
      await this.#insert(
        'INTO coins (script_hash, outpoint, value, height, is_coinbase)',
        coinRows(changes.made.values()),
        {
          // Two rewards of the early chain have the ids of older ones, and took their place.
          after: 'ON DUPLICATE KEY UPDATE height = VALUES(height)'
        }
      );
      const scripts = [...changes.scripts.values()].sort((a, b) => Buffer.compare(a.hash, b.hash));
      await this.#insert(
        'INTO scripts (script_hash, first_height, received)',
        scripts.map(({ hash, first, received }) => [hash, first, String(received)]),
        { after: 'ON DUPLICATE KEY UPDATE received = received + VALUES(received)' }
      );
      await this.#insert(
        'INTO blocks (block_index, hash)',
        blocks.map(({ height, hash }) => [height, Buffer.from(hash, 'hex')])
      );
      const old = last - this.#options.undoDepth - UNDO_MARGIN;
      for (const table of ['made', 'spent'])
        await this.database.query(`DELETE FROM ${table} WHERE block_index < ?`, [Math.max(0, old)]);
    });
  }

  async rollBackTip(): Promise<BlockRef | null> {
    const tip = await this.readTip();
    if (!tip) return null;
    const { height } = tip;
    await this.database.transaction(async () => {
      // Each block makes its reward: where nothing is kept of it, it was written far below the tip, or lies so far below by now.
      const [kept] = await this.database.query('SELECT 1 FROM made WHERE block_index = ? LIMIT 1', [height]);
      if (!kept) {
        const reason = `nothing is kept of block ${height} that a rollback needs: drop the database, and the tracker reads the chain anew`;
        throw new PlatformError('DATABASE_UNUSABLE', { reason });
      }
      const run = (sql: string) => this.database.query(sql, [height]);
      await run(`INSERT INTO coins (script_hash, outpoint, value, height, is_coinbase)
        SELECT script_hash, outpoint, value, height, is_coinbase FROM spent WHERE block_index = ?`);
      await run('DELETE c FROM coins c JOIN made m ON m.outpoint = c.outpoint WHERE m.block_index = ?');
      await run(`UPDATE scripts s JOIN (
          SELECT script_hash, SUM(value) AS value FROM made WHERE block_index = ? GROUP BY script_hash
        ) m ON m.script_hash = s.script_hash SET s.received = s.received - m.value`);
      await this.database.query(
        'DELETE s FROM scripts s JOIN made m ON m.script_hash = s.script_hash WHERE m.block_index = ? AND s.first_height = ?',
        [height, height]
      );
      for (const table of ['made', 'spent', 'blocks']) await run(`DELETE FROM ${table} WHERE block_index = ?`);
      await this.database.recordEvent('REORG', [{ block_index: height, block_hash: tip.hash }]);
    });
    return await this.readTip();
  }

  async #readBlocks(where: string, values: readonly unknown[], limit: number): Promise<BlockRef[]> {
    const found = await this.database.query<{ height: number; hash: Buffer } & SqlRow>(
      `SELECT block_index AS height, hash FROM blocks ${where} ORDER BY block_index DESC LIMIT ?`,
      [...values, limit]
    );
    return found.map(({ height, hash }) => ({ height, hash: hash.toString('hex') }));
  }

  /** Keeps what a rollback of these blocks needs, before stored coins go. */
  async #keepUndo(
    { gone, passing }: GroupChanges,
    blocks: readonly BlockChanges[],
    isKept: (height: number) => boolean
  ): Promise<void> {
    const kept = blocks.filter(({ height }) => isKept(height));
    const made = kept.flatMap((block) =>
      Array.from(madeCoins(block), ({ outpoint, scriptHash, value }) => [
        block.height,
        outpoint,
        scriptHash,
        String(value)
      ])
    );
    await this.#insert('INTO made (block_index, outpoint, script_hash, value)', made);
    const spent = passing.filter(({ spentAt }) => isKept(spentAt));
    await this.#insert(
      'INTO spent (block_index, script_hash, outpoint, value, height, is_coinbase)',
      spent.map((coin) => [coin.spentAt, ...rowOf(coin)])
    );
    for (const { height } of kept) {
      for (const outpoints of chunks(gone.get(height) ?? []))
        await this.database.query(
          `INSERT INTO spent (block_index, script_hash, outpoint, value, height, is_coinbase)
           SELECT ?, script_hash, outpoint, value, height, is_coinbase FROM coins WHERE outpoint IN (?)`,
          [height, outpoints]
        );
    }
  }

  async #spend(outpoints: readonly Buffer[]): Promise<void> {
    for (const some of chunks(outpoints.toSorted(Buffer.compare)))
      await this.database.query('DELETE FROM coins WHERE outpoint IN (?)', [some]);
  }

  async #insert(into: string, list: readonly (readonly unknown[])[], { after = '' } = {}): Promise<void> {
    for (const some of chunks(list)) await this.database.query(`INSERT ${into} VALUES ? ${after}`, [some]);
  }
}

function changesOf(blocks: readonly BlockChanges[]): GroupChanges {
  const made = new Map<string, GroupCoin>();
  const gone = new Map<number, Buffer[]>();
  const passing: (GroupCoin & { readonly spentAt: number })[] = [];
  const scripts = new Map<string, { readonly hash: Buffer; readonly first: number; received: bigint }>();
  for (const block of blocks) {
    const { height } = block;
    for (const coin of madeCoins(block)) {
      made.set(coin.outpoint.toString('latin1'), { ...coin, height });
      const name = coin.scriptHash.toString('latin1');
      const script = scripts.get(name);
      if (script) script.received += coin.value;
      else scripts.set(name, { hash: coin.scriptHash, first: height, received: coin.value });
    }
    const stored: Buffer[] = [];
    for (const outpoint of spentOutpoints(block)) {
      const name = outpoint.toString('latin1');
      const coin = made.get(name);
      if (!coin) stored.push(outpoint);
      else {
        made.delete(name);
        passing.push({ ...coin, spentAt: height });
      }
    }
    gone.set(height, stored);
  }
  return { made, gone, passing, scripts };
}

const rowOf = ({ scriptHash, outpoint, value, height, isCoinbase }: GroupCoin) => [
  scriptHash,
  outpoint,
  String(value),
  height,
  isCoinbase ? 1 : 0
];

/** In the order of the table's key. */
function coinRows(coins: Iterable<GroupCoin>): readonly (readonly unknown[])[] {
  return [...coins].sort((a, b) => Buffer.compare(a.scriptHash, b.scriptHash)).map(rowOf);
}

function* chunks<T>(list: readonly T[]): Generator<T[]> {
  for (let at = 0; at < list.length; at += ROWS) yield list.slice(at, at + ROWS);
}
