import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import type { RowBuffer } from './rows.ts';

/** One (address, ticker) pair with what it holds. */
export interface Holding {
  readonly addressId: number;
  readonly tickId: number;
  readonly amount: bigint;
}

/**
 * Movements of one block: rows of `credits`, `debits`, `escrows`, and at its end the balances and supplies that follow from them.
 */
export class Movements {
  readonly #connection: Connection;
  readonly #rows: RowBuffer;
  readonly #balances = new Map<string, Holding>();
  readonly #supplies = new Map<number, bigint>();

  constructor(connection: Connection, buffer: RowBuffer) {
    this.#connection = connection;
    this.#rows = buffer;
  }

  credit(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#add('credits', actionIndex, addressId, tickId, amount);
    this.shift(addressId, tickId, amount, amount);
  }

  debit(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#add('debits', actionIndex, addressId, tickId, amount);
    this.shift(addressId, tickId, -amount, -amount);
  }

  /** A lock of a positive amount, or the release of one of a negative. */
  escrow(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#add('escrows', actionIndex, addressId, tickId, amount);
    this.shift(addressId, tickId, 0n, amount);
  }

  #add(table: string, action_index: number, address_id: number, tick_id: number, amount: bigint): void {
    this.#rows.add(table, { action_index, address_id, tick_id, amount: formatAmount(amount) });
  }

  /** Moves a balance and a supply without rows: what taking rows back does. */
  shift(addressId: number, tickId: number, balance: bigint, supply: bigint): void {
    const key = `${addressId}:${tickId}`;
    if (balance !== 0n || this.#balances.has(key)) {
      const before = this.#balances.get(key)?.amount ?? 0n;
      this.#balances.set(key, { addressId, tickId, amount: before + balance });
    }
    this.#supplies.set(tickId, (this.#supplies.get(tickId) ?? 0n) + supply);
  }

  /** Returns the holding of a pair, this block's movements included. */
  async held(addressId: number, tickId: number): Promise<bigint> {
    const [row] = await rows<{ amount: string }>(
      this.#connection,
      'SELECT amount FROM balances WHERE address_id = ? AND tick_id = ?',
      [addressId, tickId]
    );
    const before = parseAmount(row?.amount ?? '0') ?? 0n;
    return before + (this.#balances.get(`${addressId}:${tickId}`)?.amount ?? 0n);
  }

  /** The first pair of an address or of one above it, else the lowest pair of all. */
  async findPair(addressId: number): Promise<Omit<Holding, 'amount'> | undefined> {
    const [found] = await rows<{ address_id: number; tick_id: number }>(
      this.#connection,
      `(SELECT address_id, tick_id FROM balances WHERE address_id >= ? ORDER BY address_id, tick_id LIMIT 1)
       UNION ALL (SELECT address_id, tick_id FROM balances ORDER BY address_id, tick_id LIMIT 1) LIMIT 1`,
      [addressId]
    );
    return found && { addressId: Number(found.address_id), tickId: Number(found.tick_id) };
  }

  /** Writes balances, of which those at zero go, and supplies. */
  async settle(): Promise<void> {
    const pairs = [...this.#balances.values()];
    if (pairs.length > 0) await this.#settleBalances(pairs);
    for (const [tickId, change] of this.#supplies) {
      if (change === 0n) continue;
      const [token] = await rows<{ id: number; supply: string }>(
        this.#connection,
        'SELECT id, supply FROM tokens WHERE tick_id = ?',
        [tickId]
      );
      if (!token) continue;
      const supply = formatAmount((parseAmount(token.supply) ?? 0n) + change);
      await this.#connection.query('UPDATE tokens SET supply = ? WHERE id = ?', [supply, token.id]);
    }
    this.#balances.clear();
    this.#supplies.clear();
  }

  async #settleBalances(pairs: readonly Holding[]): Promise<void> {
    const keys = pairs.map(({ addressId, tickId }) => [addressId, tickId]);
    const found = await rows<{ address_id: number; tick_id: number; amount: string }>(
      this.#connection,
      'SELECT address_id, tick_id, amount FROM balances WHERE (address_id, tick_id) IN (?)',
      [keys]
    );
    const before = new Map(found.map((row) => [`${row.address_id}:${row.tick_id}`, parseAmount(row.amount) ?? 0n]));
    const gone: number[][] = [];
    const kept: (number | string)[][] = [];
    for (const { addressId, tickId, amount } of pairs) {
      const total = (before.get(`${addressId}:${tickId}`) ?? 0n) + amount;
      if (total < 0n) throw new Error(`address ${addressId} would hold ${formatAmount(total)} of ticker ${tickId}`);
      if (total === 0n) gone.push([addressId, tickId]);
      else kept.push([addressId, tickId, formatAmount(total)]);
    }
    if (gone.length > 0)
      await this.#connection.query('DELETE FROM balances WHERE (address_id, tick_id) IN (?)', [gone]);
    if (kept.length > 0)
      await this.#connection.query(
        'INSERT INTO balances (address_id, tick_id, amount) VALUES ? ON DUPLICATE KEY UPDATE amount = VALUES(amount)',
        [kept]
      );
  }
}
