import { formatAmount } from '../../consensus/amount.ts';
import type { ChainNames, LeafChange } from '../../consensus/balance-leaf.ts';
import { IdsByText, type KnownIds } from '../../consensus/ids-by-text.ts';
import { MEDIAN_BLOCKS } from '../../consensus/median-time.ts';
import { rows, type Statements } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from '../block/block.ts';
import { type BlocksBelow, executeBlocks } from '../block/execute.ts';
import type { Progress } from '../block/progress.ts';
import type { Rules } from '../profile/rules.ts';
import { splitPair, tickKey } from '../state/keys.ts';
import { addSums, type MovedSums } from '../state/movements.ts';
import type { RowChange, TableRow } from '../state/rows.ts';
import type { Token } from '../state/token.ts';
import { type Changed, View } from '../state/view.ts';
import { ChangedOffers } from './changed-offers.ts';
import { factLoader } from './facts/loader.ts';
import { loadBooks, readTimes, restoreBooks } from './facts/offers.ts';
import { readTickers } from './facts/tickers.ts';
import { RowIds } from './row-ids.ts';
import type { BalanceIds, BalanceRow, EndedBalance } from './row-writer.ts';
import { checkChanges } from './sanity.ts';
import { leavesOf } from './state-roots.ts';

/** Facts in memory after which the view drops old ones; it keeps as many again. A block at the tip reads few. */
const MAX_FACTS = { catchUp: 15_000, tip: 2_000 };
const COUNTERS = (['address', 'ticker', 'action', 'transaction'] as const).map(
  (key) => ({ kind: 'counter', key }) as const
);

/** Rows of one block. */
export interface BlockRows {
  readonly height: number;
  readonly rows: readonly TableRow[];
  readonly changes: readonly RowChange[];
  /** Highest id that a row of `balances` has had after the block. */
  readonly lastBalance: number;
}

/** Blocks that are executed and not yet written. */
export interface PreparedBlocks {
  readonly executed: readonly ExecutedBlock[];
  /** Whether there is no block below them. */
  readonly isFirst: boolean;
  /** Rows of each block. */
  readonly byBlock: readonly BlockRows[];
  readonly rows: readonly TableRow[];
  readonly changes: readonly RowChange[];
  /** Tokens and balances as the blocks leave them. A balance of 0 has no row. */
  readonly tokens: readonly Token[];
  readonly balances: readonly BalanceRow[];
  /** Deleted rows of balances, each with the block that deleted it. */
  readonly ended: readonly EndedBalance[];
  /** Leaves of the balances; null where they were not asked for, or where a balance has none. */
  readonly leaves: readonly LeafChange[] | null;
  /** Number of movements of each ticker, by its id. */
  readonly moved: ReadonlyMap<number, number>;
}

/**
 * Executes blocks on the state of a ledger database while those before them are still being written. What these changed
 * is in memory; what is read from the database they did not change.
 */
export class Preparer {
  readonly #rules: Rules;
  readonly #progress: Progress | undefined;
  /**
   * Ids of the tickers of all tokens, by `tickKey`. A ticker without an ISSUE is not kept, so naming one fills no
   * memory.
   */
  #tickers = new IdsByText();
  /** Ids for tables that would number their rows by themselves. */
  readonly #ids = new RowIds();
  #view = new View({ isWhole: false });
  readonly #changedOffers = new ChangedOffers();
  /** Blocks below the next ones; undefined where only the database knows. */
  #below: BlocksBelow | undefined;

  /** @param progress is called as the work goes on */
  constructor(rules: Rules, progress?: Progress) {
    this.#rules = rules;
    this.#progress = progress;
  }

  /** Ids of the tickers of all tokens, by `tickKey`. */
  get tickers(): KnownIds {
    return this.#tickers;
  }

  /**
   * Forgets all that is in memory, with the blocks that were prepared and not written. The books of offers and polls are
   * kept where it is known which of them were changed above what is written: there may be very many others.
   */
  async restart(reader: Statements): Promise<void> {
    await this.#restartView(reader);
    this.#below = undefined;
    await this.#ids.restart(reader);
    this.#tickers = await readTickers(reader); // at once: trials read them in between
  }

  async #restartView(reader: Statements): Promise<void> {
    const former = this.#view;
    this.#view = new View({ isWhole: false });
    if (!former.hasAllOffers) return;
    const [tip] = await rows<{ height: number | null }>(reader, 'SELECT MAX(block_index) AS height FROM blocks');
    const height = Number(tip?.height ?? -1);
    this.#changedOffers.add(Number.POSITIVE_INFINITY, former.takeTouched());
    const changed = this.#changedOffers.takeAbove(height);
    const isSpelledAlike = !former.isRespelled || this.#rules.isActive('CANONICAL_ADDRESSES', height + 1);
    if (changed === null || !isSpelledAlike) return;
    const view = new View({ isWhole: false, book: former });
    await restoreBooks(reader, view, changed);
    this.#view = view;
  }

  /**
   * Executes blocks that follow those prepared last. These may still be being written; those before them must be
   * written.
   *
   * @param readers connections that see what is committed, or the transaction that is to write the blocks
   * @param names names of the chain, if leaves of balances are wanted
   * @returns the first of the blocks: all of them, unless they make very many rows
   */
  async prepare(
    blocks: readonly ChainBlock[],
    readers: readonly [Statements, ...Statements[]],
    names?: ChainNames
  ): Promise<PreparedBlocks> {
    const view = this.#view;
    // Facts that are forgotten were changed by written blocks only: changes of those under way are newer.
    if (view.size > (blocks.length > 1 ? MAX_FACTS.catchUp : MAX_FACTS.tip)) view.age();
    const [reader] = readers;
    const load = factLoader(readers, view, { ids: this.#tickers });
    await load(view.missing(COUNTERS));
    const below = this.#below ?? (await readBelow(reader, blocks[0]!.height));
    if (!view.hasAllOffers) {
      await loadBooks(reader, view, () => this.#progress?.pageRead());
      this.#changedOffers.begin(blocks[0]!.height - 1);
    }
    const executed = await executeBlocks({ view, rules: this.#rules, load, progress: this.#progress }, blocks, below);
    this.#changedOffers.add(executed.at(-1)!.block.height, view.takeTouched());
    const times = [...below.times, ...executed.map(({ block }) => block.time)].slice(-MEDIAN_BLOCKS);
    this.#below = { hashes: executed.at(-1)!.hashes, times };
    return { ...this.#collect(executed, names), isFirst: below.hashes === undefined };
  }

  /** Returns what executed blocks leave to be written, from the view as it now is. */
  #collect(executed: readonly ExecutedBlock[], names: ChainNames | undefined): Omit<PreparedBlocks, 'isFirst'> {
    const changed = this.#view.takeChanged();
    const born = this.#ids.assignBalanceIds(executed, changed.pairs);
    const byBlock = executed.map((block, place) => ({
      height: block.block.height,
      rows: this.#ids.number(rowsOf(block)),
      changes: block.rowChanges,
      lastBalance: born.lastIds[place]!
    }));
    const made = byBlock.flatMap(({ rows }) => rows);
    const tokens = [...changed.tokens.keys()].flatMap((key) => this.#view.get('token', key) ?? []);
    for (const { id, tick } of tokens) this.#tickers.set(tickKey(tick), id);
    const sums: MovedSums = new Map();
    for (const block of executed) addSums(sums, block.sums);
    checkChanges(changed, sums, this.#view);
    return {
      executed,
      byBlock,
      rows: made,
      changes: byBlock.flatMap(({ changes }) => changes),
      tokens,
      balances: this.#balancesOf(changed, born.ids),
      ended: born.ended.map(({ pair, ...row }) => ({ ...row, ...this.#idsOf(pair) })),
      leaves: names ? leavesOf(this.#rules.hashes, names, this.#view, changed.pairs.keys()) : null,
      moved: new Map([...sums].map(([tick, sum]) => [this.#tickers.get(tick)!, sum.rows]))
    };
  }

  #balancesOf({ pairs }: Changed, ids: ReadonlyMap<string, number>): BalanceRow[] {
    return [...pairs].flatMap(([pair, before]) => {
      const amount = this.#view.get('balance', pair);
      const id = ids.get(pair) ?? null;
      if (amount === before && id === null) return [];
      const text = amount === 0n ? null : formatAmount(amount);
      return [{ ...this.#idsOf(pair), amount: text, hadRow: before !== 0n, id }];
    });
  }

  #idsOf(pair: string): BalanceIds {
    const [tick, address] = splitPair(pair);
    return { addressId: this.#view.get('addressId', address)!, tickId: this.#tickers.get(tick)! };
  }
}

async function readBelow(reader: Statements, height: number): Promise<BlocksBelow> {
  const [hashes] = await rows<BlockHashes & Record<string, unknown>>(
    reader,
    `SELECT l.hash AS ledger, a.hash AS actions, c.hash AS contract, s.hash AS state FROM blocks b
     LEFT JOIN index_transactions l ON l.id = b.ledger_hash_id LEFT JOIN index_transactions a ON a.id = b.actions_hash_id
     LEFT JOIN index_transactions c ON c.id = b.contract_hash_id LEFT JOIN index_transactions s ON s.id = b.state_hash_id
     WHERE b.block_index < ? ORDER BY b.block_index DESC LIMIT 1`,
    [height]
  );
  // Without them the hashes of the next block would be those of a first block.
  if (hashes && [hashes.ledger, hashes.actions, hashes.contract].includes(null as unknown as string))
    throw new PlatformError('LEDGER_INSANE', { reason: `blocks has no hashes of the block below ${height}` });
  return { hashes, times: await readTimes(reader, height) };
}

/** Returns all rows of a block. New addresses and tickers bear its height. */
function rowsOf({ block: { height, time }, hashes, root, rows: made }: ExecutedBlock): TableRow[] {
  const stamped = made.map((row) =>
    row.table === 'index_addresses' || row.table === 'index_tickers'
      ? { table: row.table, columns: { ...row.columns, block_index: height } }
      : row
  );
  return [
    ...stamped,
    {
      table: 'blocks',
      columns: {
        block_index: height,
        block_time: time,
        ledger_hash_id: hashes.ledger,
        actions_hash_id: hashes.actions,
        contract_hash_id: hashes.contract,
        state_hash_id: hashes.state,
        block_merkle_root: root
      }
    }
  ];
}
