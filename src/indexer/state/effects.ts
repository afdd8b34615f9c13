import { formatAmount } from '../../consensus/amount.ts';
import type { LedgerRow } from '../../consensus/ledger-hashes.ts';
import type { Action } from './action.ts';
import { ActionState } from './action-state.ts';
import type { Counter, Facts, Kind } from './facts.ts';
import { pairKey, tickBeginning, tickKey } from './keys.ts';
import { addMovement, MOVEMENTS, type MovedSums, type Movement } from './movements.ts';
import type { Offer } from './offer.ts';
import type { PaidFee } from './payment.ts';
import type { Columns, Refusal, RowChange, TableRow, Value } from './rows.ts';
import type { Token } from './token.ts';
import type { View } from './view.ts';

/** Columns that hold the id of an address. */
const ADDRESS_COLUMNS: ReadonlySet<string> = new Set([
  'destination_id',
  'source_id',
  'transfer_id',
  'transfer_supply_id',
  'address_id',
  'get_address_id',
  'oracle_address_id',
  'payer_address_id',
  'payee_address_id',
  'cancelled_by_id',
  'submitter_id',
  'voter_address_id',
  'delegator_address_id',
  'delegate_address_id',
  'deposit_address_id',
  'fee_payer_id'
]);

/** Types in the tables of mappings, as databases in use have them. */
export const MAPPED = { ticker: 1, address: 2 } as const;

interface Moved {
  readonly token: Token;
  readonly address: string;
  readonly amount: bigint;
}

/**
 * Kinds of looks: possible recipients of an AIRDROP or DIVIDEND, trades that a trade passes over, ballots of polls that
 * end, and ballots of polls that may be decided before.
 */
export const LOOKED = ['recipients', 'offers', 'ballots', 'earlyBallots'] as const;
/** Kind of a look. */
export type Looked = (typeof LOOKED)[number];
/** Number of looks by kind. */
export type Looks = Record<Looked, number>;

/** Units and looks that an action may use. Below 0 where others have used more than they should. */
export interface Left {
  /** @see Limits.blockUnits */
  readonly units: number;
  readonly looks: Readonly<Looks>;
  /** Whether no other source could lack what it uses. An action that begins may then use more than is left. */
  readonly isLast: boolean;
}

/** Units and looks without a limit. */
const UNLIMITED: Left = {
  units: Number.POSITIVE_INFINITY,
  looks: Object.fromEntries(LOOKED.map((each) => [each, Number.POSITIVE_INFINITY])) as Looks,
  isLast: true
};

/** Returns looks before the first one. */
export const noLooks = (): Looks => ({ recipients: 0, offers: 0, ballots: 0, earlyBallots: 0 });

/**
 * Effects of one action: its rows, and its changes on top of a view that it leaves as it is.
 *
 * Every method that reads or assigns an id may throw `Missing`; the action is then run again from its start.
 */
export class Effects extends ActionState {
  readonly rows: TableRow[] = [];
  readonly rowChanges: RowChange[] = [];
  /** Refusals that no table records. */
  readonly refusals: Refusal[] = [];
  /** Actions that this one causes, recorded beside it. */
  readonly caused: Pick<Action, 'index' | 'name' | 'format' | 'source'>[] = [];
  /** Commands that run next, each as an action of its own. */
  readonly commands: string[] = [];
  /** Fee that its legs have paid for gas. */
  fee: PaidFee | undefined;
  /** Units for what the action looked at: items, offers that it serves. */
  looked = 0;
  /** Looks at other people's data that moved nothing. They cost less than units, and are counted apart. */
  readonly looks: Looks = noLooks();
  /** Units and looks that the action may use. */
  readonly left: Left;
  /** Sums of the movements, once they are settled. */
  readonly sums: MovedSums = new Map();
  /** Movements by `pairKey`. */
  readonly #movements: Partial<Record<Movement, Map<string, Moved>>> = {};
  readonly #addresses = new Set<string>();
  readonly #tickers = new Map<number, string>();

  constructor(view: View, left = UNLIMITED) {
    super(view);
    this.left = left;
  }

  /** Units that the action has used. */
  get used(): number {
    return (
      1 +
      this.caused.length +
      this.looked +
      MOVEMENTS.reduce((sum, each) => sum + (this.#movements[each]?.size ?? 0), 0)
    );
  }

  /** Whether the action has used its share of the block's units. */
  get isFull(): boolean {
    return this.used > this.left.units;
  }

  /** Addresses that get their ids by the action. */
  get newAddresses(): string[] {
    return this.rows.flatMap(({ table, columns }) => (table === 'index_addresses' ? [String(columns['address'])] : []));
  }

  set<K extends Kind>(kind: K, key: string, value: Facts[K]): void {
    this.changes.set(kind, key, value);
  }

  /** Returns the next number of a counter. */
  nextNumber(counter: Counter): number {
    const number = this.get('counter', counter) + 1;
    this.set('counter', counter, number);
    return number;
  }

  /** Returns the id of an address that the action touches. A new address gets its id now. */
  addressId(address: string): number {
    this.#addresses.add(address);
    return this.memberId(address);
  }

  /** Returns the id of an address that the action lists and does not touch. A new address gets its id now. */
  memberId(address: string): number {
    const known = this.get('addressId', address);
    if (known !== null) return known;
    const id = this.nextNumber('address');
    this.set('addressId', address, id);
    this.set('address', String(id), address);
    this.rows.push({ table: 'index_addresses', columns: { id, address } });
    return id;
  }

  /**
   * Returns the id of a ticker in its exact spelling. A new ticker gets its id now.
   *
   * @returns null for a ticker that the table of tickers cannot tell from another
   */
  tickerId(tick: string): number | null {
    const id = this.get('tickId', tick) ?? this.#newTicker(tick);
    if (id !== null) this.#tickers.set(id, tick);
    return id;
  }

  #newTicker(tick: string): number | null {
    const beginning = tickBeginning(tick);
    if (beginning !== null && this.get('tickBeginning', beginning)) return null;
    const id = this.nextNumber('ticker');
    this.set('tickId', tick, id);
    this.set('tick', String(id), tick);
    if (beginning !== null) this.set('tickBeginning', beginning, true);
    this.rows.push({ table: 'index_tickers', columns: { id, tick } });
    return id;
  }

  setToken(token: Token): void {
    this.set('token', tickKey(token.tick), token);
    this.#tickers.set(token.id, token.tick);
  }

  setOffer(offer: Offer): void {
    this.set('offer', String(offer.index), offer);
    if (offer.kind !== 'coinpay') return;
    for (const order of [offer.seller, offer.buyer]) {
      const known = this.obligations.get(order);
      this.obligations.set(order, (known ?? new Set()).add(offer.index));
    }
  }

  /** Changes columns of an existing row. */
  change(table: string, actionIndex: number, columns: Columns): void {
    this.rowChanges.push({ table, actionIndex, columns });
  }

  /**
   * Queues a row. Addresses and tickers in its columns become ids. A new address gets its id here; a ticker without a
   * token gets none.
   */
  record(table: string, columns: Columns): void {
    const resolved: Record<string, Value> = { ...columns };
    for (const name in resolved) {
      const value = resolved[name]!;
      if (typeof value !== 'string' || !name.endsWith('_id')) continue;
      if (name.endsWith('tick_id')) resolved[name] = this.#tokenId(value);
      else if (ADDRESS_COLUMNS.has(name)) resolved[name] = this.addressId(value);
    }
    this.rows.push({ table, columns: resolved });
  }

  credit(token: Token, address: string, amount: bigint): void {
    this.#move('credits', token, address, amount, amount);
  }

  debit(token: Token, address: string, amount: bigint): void {
    this.#move('debits', token, address, amount, -amount);
  }

  /** Puts a debited amount into escrow; a negative amount leaves it. */
  escrow(token: Token, address: string, amount: bigint): void {
    this.#move('escrows', token, address, amount, 0n);
  }

  /** Adds the rows of the movements, and the new supplies. @returns the movements that the ledger's hash covers */
  settle(actionIndex: number): Record<Movement, LedgerRow[]> {
    const settled: Record<Movement, LedgerRow[]> = { debits: [], credits: [], escrows: [] };
    for (const movement of MOVEMENTS) {
      for (const { token, address, amount } of this.#movements[movement]?.values() ?? []) {
        const text = formatAmount(amount);
        settled[movement].push({ action_index: actionIndex, address, tick: token.tick, amount: text });
        this.record(movement, { action_index: actionIndex, address_id: address, tick_id: token.tick, amount: text });
        addMovement(this.sums, movement, token, amount);
      }
    }
    for (const [tick, { held, escrowed }] of this.sums) this.#changeSupply(tick, held + escrowed);
    return settled;
  }

  /** Adds the rows that record which addresses and tickers an action touched. */
  addMappings(actionIndex: number): void {
    for (const address of [...this.#addresses]) this.#map(actionIndex, MAPPED.address, this.addressId(address));
    for (const id of this.#tickers.keys()) this.#map(actionIndex, MAPPED.ticker, id);
  }

  /** Adds such rows for an action that this one causes. */
  addMappingsOf(actionIndex: number, addresses: readonly string[], token: Token): void {
    for (const address of new Set(addresses)) this.#map(actionIndex, MAPPED.address, this.addressId(address));
    this.#map(actionIndex, MAPPED.ticker, token.id);
  }

  #map(action_index: number, type_id: number, id: number): void {
    this.rows.push({ table: 'mappings_actions', columns: { action_index, type_id, id } });
  }

  #move(movement: Movement, token: Token, address: string, amount: bigint, change: bigint): void {
    const key = pairKey(token.tick, address);
    this.#movements[movement] ??= new Map();
    const moved = this.#movements[movement];
    moved.set(key, { token, address, amount: (moved.get(key)?.amount ?? 0n) + amount });
    this.addressId(address);
    this.#tickers.set(token.id, token.tick);
    if (movement === 'escrows') return;
    this.set('balance', key, this.get('balance', key) + change);
    const tick = tickKey(token.tick);
    const addresses = this.moved.get(tick);
    if (addresses) addresses.add(address);
    else this.moved.set(tick, new Set([address]));
  }

  #changeSupply(tick: string, change: bigint): void {
    const token = this.get('token', tick)!;
    if (change !== 0n) this.setToken({ ...token, supply: token.supply + change });
  }

  #tokenId(tick: string): number | null {
    const token = this.get('token', tickKey(tick));
    if (token) this.#tickers.set(token.id, token.tick);
    return token?.id ?? null;
  }
}
