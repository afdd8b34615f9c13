import { createHash } from 'node:crypto';
import { chainNetwork } from '../../../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../../../src/coin/profile.ts';
import { addressOf } from '../../../../src/coin/script/address.ts';
import { payTo } from '../../../../src/coin/script/pay-scripts.ts';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import type { BlockRows, TransactionRow } from '../../../../src/decoder/block-rows.ts';
import { rulesOf } from '../../../../src/indexer/profile/rules.ts';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { Random } from '../../../reference/random.ts';
import { withoutKeys } from '../without-keys.ts';

export const NETWORK = chainNetwork('litecoin', 'regtest');
const RULES = rulesOf(DEFAULT_PROFILE, NETWORK, 'PLATFORM');
/** Addresses for each one that acts; the others only hold. */
const PER_ACTIVE = 10;
const PER_TICKER = 10;
/** Holdings in all, for each address: some, once the holders of all tickers are added up. */
const TOP_HOLDERS = 0.08;
const UNITS = 1_000;
const FIRST_TIME = 1_700_000_000;

/**
 * A ledger as the field has them: a million addresses, a tenth as many tickers, of which few have many holders and many have
 * one, and blocks in which nine of ten actions move a ticker that is the likelier the more holders it has.
 */
export class Field {
  readonly addresses: number;
  readonly tickers: number;
  readonly #active: number;
  readonly #texts: string[] = [];
  readonly #random = new Random(1);
  #issued = 0;
  #height = 0;
  #hash = NETWORK.genesisHash;

  constructor(addresses: number) {
    this.addresses = addresses;
    this.tickers = addresses / PER_TICKER;
    this.#active = addresses / PER_ACTIVE;
    for (let id = 1; id <= this.#active; id++) this.#texts.push(addressText(`address ${id}`));
  }

  /** Writes the ledger as of block 0 into an indexer database, which is made. */
  async write(database: DatabaseCoordinates): Promise<void> {
    (await IndexerStore.open(database, RULES, 600)).close();
    const connection = await connect(database);
    const tables = ['index_addresses', 'index_tickers', 'tokens', 'balances', 'credits', 'actions'];
    await connection.query('SET SESSION unique_checks = 0');
    await withoutKeys(connection, tables, () => this.#fill(connection));
    await connection.query(`ANALYZE TABLE ${tables.join(', ')}`);
    await connection.end();
  }

  /** The block without transactions that `write` ends with. */
  get firstBlock(): BlockRows {
    return { height: 0, time: FIRST_TIME, hash: NETWORK.genesisHash, previousHash: '', transactions: [], findings: [] };
  }

  /** The next block. */
  mixedBlock(transactions: number): BlockRows {
    return this.#blockOf(Array.from({ length: transactions }, () => this.#action()));
  }

  /** The next block, of valid SENDs alone. */
  sendBlock(transactions: number): BlockRows {
    return this.#blockOf(Array.from({ length: transactions }, () => this.#send()));
  }

  #blockOf(actions: readonly (readonly [source: string, data: string])[]): BlockRows {
    const height = ++this.#height;
    const previousHash = this.#hash;
    this.#hash = hashOf(`block ${height}`);
    const transactions = actions.map(([source, data], place): TransactionRow => {
      const dispensers = { opened: [], extendedTo: null };
      const hash = hashOf(`transaction ${height} ${place}`);
      return { hash, source, data, rawData: null, pubkey: null, outputs: [], dispensers };
    });
    return { height, time: FIRST_TIME + 150 * height, hash: this.#hash, previousHash, transactions, findings: [] };
  }

  #action(): readonly [source: string, data: string] {
    const draw = this.#random.below(100);
    if (draw < 78) return this.#send();
    const [tick, source] = this.#holding();
    if (draw < 82) return [source, `SEND|1|${tick}|1|${this.#one()}|2|${this.#one()}|thanks`];
    if (draw < 86) return [source, `SEND|0|${tick}|${UNITS * UNITS}|${this.#one()}`];
    if (draw < 89) return [source, `ISSUE|0|NEW${++this.#issued}|0|0|2|a new one|1000`];
    if (draw < 92) return [source, `MINT|0|${tick}|1`];
    if (draw < 95) return [source, `BROADCAST|0|block ${this.#height}|${draw}`];
    if (draw < 97) return [source, `DESTROY|0|${tick}|1`];
    if (draw < 99) return [source, `ORDER|0|LTC|${tick}|1|0|LTC||0.${1 + this.#random.below(9)}`];
    return [source, `MESSAGE|3|LTC|${this.#one()}|hello ${this.#random.below(1_000)}`];
  }

  #send(): readonly [source: string, data: string] {
    const [tick, source] = this.#holding();
    const memo = this.#random.below(10) === 0 ? `|memo ${this.#random.below(100_000)}` : '';
    const isNew = this.#random.below(50) === 0;
    const destination = isNew ? addressText(`new ${this.#height} ${this.#random.below(1e9)}`) : this.#one();
    return [source, `SEND|0|${tick}|${1 + this.#random.below(5)}|${destination}${memo}`];
  }

  /** A ticker, the likelier the more holders it has, and one of its holders. */
  #holding(): readonly [tick: string, address: string] {
    const rank = Math.floor(this.tickers ** (this.#random.below(1e9) / 1e9));
    const first = this.#firstHolder(rank);
    const holder = this.#random.below(Math.min(this.#holders(rank), this.#active - first));
    return [`T${rank}`, this.#texts[first + holder]!];
  }

  /** Any address that acts. */
  #one(): string {
    return this.#random.one(this.#texts);
  }

  #holders(rank: number): number {
    return Math.max(1, Math.floor((TOP_HOLDERS * this.addresses) / rank));
  }

  #firstHolder(rank: number): number {
    return (rank * 7_919) % this.#active;
  }

  async #fill(connection: Connection): Promise<void> {
    const insert = (into: string, values: string, from: number, to: number) =>
      connection.query(`INSERT INTO ${into} SELECT ${values} FROM seq_${from}_to_${to}`);
    await connection.query('INSERT INTO index_addresses (id, address, block_index) VALUES ?', [
      this.#texts.map((text, place) => [place + 1, text, 0])
    ]);
    const addressColumns = 'index_addresses (id, address, block_index)';
    await insert(addressColumns, "seq, CONCAT('passive', seq), 0", this.#active + 1, this.addresses);
    await insert('index_tickers (id, tick, block_index)', "seq, CONCAT('T', seq), 0", 1, this.tickers);
    const top = TOP_HOLDERS * this.addresses;
    await insert(
      'tokens (id, tick_id, action_index, last_action_index, owner_id, supply, max_supply, max_mint, mint_address_max, decimals, mint_start_block, mint_stop_block)',
      `seq, seq, seq, seq, 1 + (seq * 7919) % ${this.#active}, GREATEST(1, FLOOR(${top} / seq)) * ${UNITS}, '0', '10', '0', 0, 0, 0`,
      1,
      this.tickers
    );
    await insert('actions (action_index, block_index, action_id, source_id)', 'seq, 0, 1, 1', 1, this.tickers);
    await connection.query("INSERT INTO index_actions (id, action) VALUES (1, 'ISSUE')");
    await this.#fillHoldings(connection, insert);
    await connection.query(`INSERT INTO index_transactions (id, hash) VALUES (1, ?), (2, ?), (3, ?)`, ['1', '2', '3']);
    await connection.query(
      'INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id) VALUES (0, ?, 1, 2, 3)',
      [FIRST_TIME]
    );
    await connection.query('INSERT INTO chain_blocks VALUES (0, ?)', [NETWORK.genesisHash]);
  }

  /** Ticker by ticker where there are many holders, holder by holder where there are few. */
  async #fillHoldings(
    connection: Connection,
    insert: (into: string, values: string, from: number, to: number) => Promise<unknown>
  ): Promise<void> {
    const many = this.tickers / 100;
    const into = 'balances (address_id, tick_id, amount)';
    const holder = (tick: string, place: string) =>
      `1 + ((${tick} * 7919) % ${this.#active} + ${place}) % ${this.addresses}, ${tick}, '${UNITS}'`;
    for (let rank = 1; rank <= many; rank++)
      await insert(into, holder(String(rank), 'seq'), 0, this.#holders(rank) - 1);
    for (let place = 0; place === 0 || this.#holders(many + 1) > place; place++) {
      const last = place === 0 ? this.tickers : Math.floor((TOP_HOLDERS * this.addresses) / (place + 1));
      if (last > many) await insert(into, holder('seq', String(place)), many + 1, last);
    }
    await connection.query(
      'INSERT INTO credits (action_index, address_id, tick_id, amount) SELECT tick_id, address_id, tick_id, amount FROM balances'
    );
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function addressText(name: string): string {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 20);
  return addressOf(payTo({ kind: 'witnessKeyHash', bytes }), NETWORK.addresses)!;
}
