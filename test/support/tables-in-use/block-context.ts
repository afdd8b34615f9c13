import type { Connection } from '../../../src/db/connection.ts';
import { createRandom, type Random } from '../../../src/devnet/random.ts';
import type { TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { WITHOUT_UNIQUE_KEY } from './ages.ts';
import type { Lookups } from './lookups.ts';
import { Movements } from './movements.ts';
import { type Row, RowBuffer } from './rows.ts';
import { fillRow, type Place, type Pools } from './values.ts';

/** Blocks between a change of a stake and its effect, and blocks that an unstake cools down, by chain. */
export const CHAINS = {
  bitcoin: { coin: 'BTC', delay: 6, cooldown: 1_000, blockSeconds: 600 },
  litecoin: { coin: 'LTC', delay: 24, cooldown: 4_032, blockSeconds: 150 },
  dogecoin: { coin: 'DOGE', delay: 60, cooldown: 10_080, blockSeconds: 60 }
} as const;
export type ChainName = keyof typeof CHAINS;

/** Facts that hold for all blocks of one database. */
export interface Setting {
  readonly connection: Connection;
  readonly tables: ReadonlyMap<string, TableDefinition>;
  readonly seed: string;
  readonly chain: ChainName;
  readonly isOld: boolean;
}

/** Counters of an indexer's database, read from it when it is opened and after a reorg. */
export interface Counters {
  height: number;
  lastTx: number;
  lastAction: number;
  /** Reorgs so far: what tells the blocks of one branch from those of another. */
  branch: number;
  /** Hashes of the newest block: what those of the next one are made of. */
  tip: Readonly<Record<'ledger' | 'actions' | 'contract', string>>;
}

/** One block of an indexer while it is written: its rows before they go to the database. */
export class BlockContext implements Place {
  readonly setting: Setting;
  readonly counters: Counters;
  readonly lookups: Lookups;
  readonly height: number;
  readonly time: number;
  readonly random: Random;
  readonly buffer: RowBuffer;
  readonly movements: Movements;
  readonly pools: Pools;
  actionIndex = 0;
  /** Whether the block's hashes depend on its content: without actions they are the same on every branch. */
  hasActions = false;
  hasContracts = false;
  #serial = 0;

  constructor(setting: Setting, counters: Counters, lookups: Lookups, time: number, buffer = new RowBuffer()) {
    this.buffer = buffer;
    this.setting = setting;
    this.counters = counters;
    this.lookups = lookups;
    this.height = counters.height + 1;
    this.time = time;
    this.random = createRandom(`${setting.seed}:${counters.branch}:${this.height}`);
    this.movements = new Movements(setting.connection, this.buffer);
    this.pools = poolsOf(this);
  }

  serial = (): number => (this.counters.branch * 10_000_000 + this.height) * 10_000 + this.#serial++;

  /** Queues a row; what is not given follows from the names and types of the columns. */
  add(table: string, given: Row = {}): void {
    const row = fillRow(this.setting.tables.get(table)!, this, given);
    this.buffer.add(table, row);
    // Nothing there keeps an old database from writing the same row again.
    if (this.setting.isOld && WITHOUT_UNIQUE_KEY.has(table) && this.random.between(1, 3) === 1)
      this.buffer.add(table, row);
  }

  async flush(): Promise<void> {
    await this.buffer.flush(this.setting.connection);
  }

  status(text: string): Promise<number> {
    return this.lookups.idOf('index_statuses', text);
  }

  /** The next action, with its row. */
  async newAction(name: string, txIndex: number | null): Promise<number> {
    this.actionIndex = ++this.counters.lastAction;
    this.hasActions = true;
    this.hasContracts ||= /EXECUTE|DEPLOY|DEPOSIT|WITHDRAW/.test(name);
    this.add('actions', {
      action_index: this.actionIndex,
      block_index: this.height,
      tx_index: txIndex,
      action_id: await this.lookups.idOf('index_actions', name),
      ...(txIndex === null ? { tx_vout: null } : {})
    });
    return this.actionIndex;
  }
}

function poolsOf(context: BlockContext): Pools {
  const { random, lookups, counters } = context;
  const one = (table: Parameters<Lookups['pool']>[0]) => (): number => {
    const ids = lookups.pool(table);
    return ids[random.between(0, ids.length - 1)] ?? 1;
  };
  return {
    address: () => random.between(1, Math.max(1, lookups.highest('index_addresses'))),
    tick: () => random.between(1, Math.max(1, lookups.highest('index_tickers'))),
    action: () => random.between(1, Math.max(1, counters.lastAction)),
    pubkey: one('index_pubkeys'),
    memo: one('index_memos'),
    status: one('index_statuses'),
    coin: one('index_coins'),
    fiat: one('index_fiats'),
    mimeType: one('index_mime_types')
  };
}
