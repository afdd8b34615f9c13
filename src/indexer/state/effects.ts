import { formatAmount } from '../../consensus/amount.ts';
import type { LedgerRow } from '../../consensus/ledger-hashes.ts';
import { isLive, type Offer, type OfferKind } from '../offers/offer.ts';
import { type FormatFields, readReference } from '../rules/grammar.ts';
import {
  type Counter,
  type FactKey,
  type Facts,
  FactTable,
  type Kind,
  type List,
  type Preferences,
  pairKey,
  type Reader,
  sleeperKey,
  type Token,
  tickKey,
  type View
} from './state.ts';

/** A value of a row; a column that ends in `_id` may hold the text that it refers to. */
export type Value = string | number | bigint | null;
export type Columns = Readonly<Record<string, Value>>;

/** A row to be written. */
export interface TableRow {
  readonly table: string;
  readonly columns: Columns;
}

/** New values of a row that stands; its table has one row an action. */
export interface RowChange {
  readonly table: string;
  readonly actionIndex: number;
  readonly columns: Columns;
}

/** One action, as it was read and before it is judged. */
export interface Action {
  readonly index: number;
  /** Null for what no transaction asked for. */
  readonly txIndex: number | null;
  readonly name: string;
  readonly format: number | null;
  readonly source: string;
  readonly fields: FormatFields;
  readonly block: { readonly height: number; readonly time: number };
}

export type Movement = 'debits' | 'credits' | 'escrows';
export const MOVEMENTS: readonly Movement[] = ['debits', 'credits', 'escrows'];

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
  'cancelled_by_id'
]);

interface Moved {
  readonly token: Token;
  readonly address: string;
  readonly amount: bigint;
}

/**
 * What one action does: its rows, and its changes on top of a view that it leaves as it is.
 *
 * Every reading method may throw `Missing`; the action is then run again from its start.
 */
export class Effects implements Reader {
  readonly rows: TableRow[] = [];
  readonly rowChanges: RowChange[] = [];
  /** Actions that this one causes, to be recorded beside it. */
  readonly caused: Pick<Action, 'index' | 'name' | 'format' | 'source'>[] = [];
  /** Commands to be run next, each as an action of its own. */
  readonly commands: string[] = [];
  readonly changes = new FactTable();
  readonly #view: View;
  readonly #moved: Readonly<Record<Movement, Map<string, Moved>>> = {
    debits: new Map(),
    credits: new Map(),
    escrows: new Map()
  };
  readonly #addresses = new Set<string>();
  readonly #tickers = new Map<number, string>();

  constructor(view: View) {
    this.#view = view;
  }

  get<K extends Kind>(kind: K, key: string): Facts[K] {
    const changed = this.changes.get(kind, key);
    return changed === undefined ? this.#view.get(kind, key) : changed;
  }

  set<K extends Kind>(kind: K, key: string, value: Facts[K]): void {
    this.changes.set(kind, key, value);
  }

  /** Asks for several facts at once. They may be very many: all that an action names, all holders of a token. */
  want(keys: readonly FactKey[]): void {
    this.#view.want(keys);
  }

  /** The next number of a counter. */
  deal(counter: Counter): number {
    const dealt = this.get('counter', counter) + 1;
    this.set('counter', counter, dealt);
    return dealt;
  }

  /** The id of an address, dealt now if it has none. */
  addressId(address: string): number {
    const known = this.get('addressId', address);
    this.#addresses.add(address);
    if (known !== null) return known;
    const id = this.deal('address');
    this.set('addressId', address, id);
    this.set('address', String(id), address);
    this.rows.push({ table: 'index_addresses', columns: { id, address } });
    return id;
  }

  /** The address that a field names, as text or by `^id`; null when the id names none. */
  addressOf(field: string): string | null {
    const id = readReference(field);
    return id === null ? field : this.get('address', String(id));
  }

  /** The token that a field names, as ticker or by `^id`. */
  token(field: string): Token | null {
    const id = readReference(field);
    const tick = id === null ? field : this.get('tick', String(id));
    return tick === null || tick === '' ? null : this.get('token', tickKey(tick));
  }

  setToken(token: Token): void {
    this.set('token', tickKey(token.tick), token);
    this.#tickers.set(token.id, token.tick);
  }

  balance(tick: string, address: string): bigint {
    return this.get('balance', pairKey(tick, address));
  }

  /** Who holds some of a token, in byte order. */
  holders({ tick }: Token): { readonly address: string; readonly amount: bigint }[] {
    const prefix = `${tickKey(tick)}|`;
    const changed = [...this.changes.of('balance').keys()].filter((key) => key.startsWith(prefix));
    const names = new Set([...this.get('holders', tickKey(tick)), ...changed.map((key) => key.slice(prefix.length))]);
    this.want([...names].map((address) => ({ kind: 'balance', key: prefix + address }) as const));
    return [...names]
      .map((address) => ({ address, amount: this.balance(tick, address) }))
      .filter(({ amount }) => amount > 0n)
      .sort((a, b) => compareBytes(a.address, b.address));
  }

  /** The tokens that an address holds some of, tickers in byte order. */
  holdings(address: string): { readonly token: Token; readonly amount: bigint }[] {
    const ticks = [...this.get('holdings', address)];
    this.want(
      ticks.flatMap((tick) => [
        { kind: 'balance', key: pairKey(tick, address) } as const,
        { kind: 'token', key: tick } as const
      ])
    );
    return ticks
      .map((tick) => ({ token: this.get('token', tick)!, amount: this.balance(tick, address) }))
      .filter(({ amount }) => amount > 0n)
      .sort((a, b) => compareBytes(a.token.tick, b.token.tick));
  }

  /** The tokens of an owner, tickers in byte order. */
  owned(address: string): Token[] {
    return [...this.get('owned', address)]
      .map((tick) => this.get('token', tick)!)
      .filter(({ owner }) => owner === address)
      .sort((a, b) => compareBytes(a.tick, b.tick));
  }

  /** A list as it is now, by the action that made it or an edit of it. */
  list(actionIndex: number): { readonly root: number; readonly list: List } | null {
    const root = this.get('listRoot', String(actionIndex));
    const list = root === null ? null : this.get('list', String(root));
    return root === null || list === null ? null : { root, list };
  }

  isAsleep(type: 'address' | 'tick', name: string, height: number): boolean {
    const wakes = this.get('sleep', sleeperKey(type, name));
    return wakes !== null && (wakes === -1 || wakes > height);
  }

  /** An offer of a kind by the index of its action, also one that has ended. */
  offer<K extends OfferKind>(kind: K, index: number): OfferOf<K> | null {
    const offer = this.get('offer', String(index));
    return offer?.kind === kind ? (offer as OfferOf<K>) : null;
  }

  setOffer(offer: Offer): void {
    this.set('offer', String(offer.index), offer);
  }

  /** The live offers of a kind, oldest first. */
  liveOffers<K extends OfferKind>(kind: K): OfferOf<K>[] {
    const changed = [...this.changes.of('offer').keys()].map(Number);
    return this.#live(new Set([...this.#view.offersOf(kind), ...changed])).filter(
      (offer): offer is OfferOf<K> => offer.kind === kind
    );
  }

  /** The live offers at a market or counter, oldest first. None moves, and what an action makes it does not meet there. */
  offersAt(place: string): Offer[] {
    return this.#live(this.#view.offersAt(place));
  }

  #live(indexes: Iterable<number>): Offer[] {
    return [...indexes]
      .sort((a, b) => a - b)
      .flatMap((index) => this.get('offer', String(index)) ?? [])
      .filter(isLive);
  }

  /** Changes columns of a row that stands. */
  change(table: string, actionIndex: number, columns: Columns): void {
    this.rowChanges.push({ table, actionIndex, columns });
  }

  preferences(address: string): Preferences | null {
    return this.get('preferences', address);
  }

  /** Queues a row. Addresses and tickers in its columns become ids; a new address gets its id here, an unknown ticker none. */
  record(table: string, columns: Columns): void {
    const dealt: Record<string, Value> = { ...columns };
    for (const name in dealt) {
      const value = dealt[name]!;
      if (typeof value !== 'string' || !name.endsWith('_id')) continue;
      if (name.endsWith('tick_id')) dealt[name] = this.#tickerId(value);
      else if (ADDRESS_COLUMNS.has(name)) dealt[name] = this.addressId(value);
    }
    this.rows.push({ table, columns: dealt });
  }

  credit(token: Token, address: string, amount: bigint): void {
    this.#move('credits', token, address, amount, amount);
  }

  debit(token: Token, address: string, amount: bigint): void {
    this.#move('debits', token, address, amount, -amount);
  }

  /** Holds an amount that was debited; a negative amount lets it go. */
  escrow(token: Token, address: string, amount: bigint): void {
    this.#move('escrows', token, address, amount, 0n);
  }

  /** Adds the rows of what was moved, and the new supplies. @returns what the ledger's hash covers */
  settle(actionIndex: number): Record<Movement, LedgerRow[]> {
    const settled: Record<Movement, LedgerRow[]> = { debits: [], credits: [], escrows: [] };
    for (const movement of MOVEMENTS) {
      for (const { token, address, amount } of this.#moved[movement].values()) {
        const text = formatAmount(amount);
        settled[movement].push({ action_index: actionIndex, address, tick: token.tick, amount: text });
        this.record(movement, { action_index: actionIndex, address_id: address, tick_id: token.tick, amount: text });
        this.#changeSupply(token, movement === 'debits' ? -amount : amount);
      }
    }
    return settled;
  }

  /** The rows that tell which addresses and tickers an action touched. */
  addMappings(actionIndex: number): void {
    for (const address of [...this.#addresses]) this.#map(actionIndex, MAPPED_ADDRESS, this.addressId(address));
    for (const id of this.#tickers.keys()) this.#map(actionIndex, MAPPED_TICKER, id);
  }

  #map(action_index: number, type_id: number, id: number): void {
    this.rows.push({ table: 'mappings_actions', columns: { action_index, type_id, id } });
  }

  #move(movement: Movement, token: Token, address: string, amount: bigint, change: bigint): void {
    const key = pairKey(token.tick, address);
    const before = this.#moved[movement].get(key)?.amount ?? 0n;
    this.#moved[movement].set(key, { token, address, amount: before + amount });
    this.addressId(address);
    this.#tickers.set(token.id, token.tick);
    if (movement !== 'escrows') this.set('balance', key, this.get('balance', key) + change);
  }

  #changeSupply({ tick }: Token, change: bigint): void {
    const token = this.get('token', tickKey(tick))!;
    if (change !== 0n) this.setToken({ ...token, supply: token.supply + change });
  }

  #tickerId(tick: string): number | null {
    const token = this.get('token', tickKey(tick));
    if (token) this.#tickers.set(token.id, token.tick);
    return token?.id ?? null;
  }
}

type OfferOf<K extends OfferKind> = Extract<Offer, { readonly kind: K }> | (Offer & { readonly kind: K });

const MAPPED_ADDRESS = 1;
const MAPPED_TICKER = 2;

/** Below them the order of UTF-16 is that of UTF-8, and it needs no bytes. */
const BEYOND_SURROGATES = /[\ud800-\uffff]/;

/** Order of the bytes of two texts in UTF-8. */
export function compareBytes(a: string, b: string): number {
  if (!BEYOND_SURROGATES.test(a) && !BEYOND_SURROGATES.test(b)) return a < b ? -1 : Number(a > b);
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
