import { formatAmount } from '../../../src/consensus/amount.ts';
import type { ActionRow, ContractPart, LedgerRow } from '../../../src/consensus/ledger-hashes.ts';
import { RowBuffer } from './rows.ts';
import { type LedgerState, LOOKUP_VALUES, type LookupName, pairKey, type Token } from './state.ts';

/** One block while it is written: new rows, changed balances and tokens, and what its hashes cover. */
export class BlockLedger {
  readonly state: LedgerState;
  readonly height: number;
  readonly rows = new RowBuffer();
  readonly credits: LedgerRow[] = [];
  readonly debits: LedgerRow[] = [];
  readonly escrows: LedgerRow[] = [];
  readonly actions: ActionRow[] = [];
  readonly contract: Partial<Record<ContractPart, object[]>> = {};
  readonly touchedTicks = new Set<number>();
  readonly #touchedPairs = new Map<string, readonly [addressId: number, tickId: number]>();

  constructor(state: LedgerState, height: number) {
    this.state = state;
    this.height = height;
  }

  /** The id of a value, dealt now if it is new; addresses and tickers are stamped with the block. */
  id(table: LookupName, value: string): number {
    const lookup = this.state.lookups[table];
    const known = lookup.idOf(value);
    if (known !== undefined) return known;
    const id = lookup.add(value);
    const stored = table === 'index_pubkeys' ? Buffer.from(value, 'hex') : value;
    const stamp = table === 'index_addresses' || table === 'index_tickers' ? { block_index: this.height } : {};
    this.rows.add(table, { id, [LOOKUP_VALUES[table]]: stored, ...stamp });
    return id;
  }

  balance(addressId: number, tickId: number): bigint {
    return this.state.balances.get(pairKey(addressId, tickId)) ?? 0n;
  }

  credit(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#move(this.credits, 'credits', actionIndex, addressId, tickId, amount, amount);
  }

  debit(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#move(this.debits, 'debits', actionIndex, addressId, tickId, amount, -amount);
  }

  /** Says that a debited amount is held; it moves nothing by itself. */
  escrow(actionIndex: number, addressId: number, tickId: number, amount: bigint): void {
    this.#move(this.escrows, 'escrows', actionIndex, addressId, tickId, amount, 0n);
  }

  #move(
    list: LedgerRow[],
    table: string,
    actionIndex: number,
    addressId: number,
    tickId: number,
    amount: bigint,
    change: bigint
  ): void {
    const text = formatAmount(amount);
    this.rows.add(table, { action_index: actionIndex, address_id: addressId, tick_id: tickId, amount: text });
    const { index_addresses: addresses, index_tickers: tickers } = this.state.lookups;
    list.push({
      action_index: actionIndex,
      address: addresses.valueOf(addressId),
      tick: tickers.valueOf(tickId),
      amount: text
    });
    const token = this.state.tokens.get(tickId);
    if (token) {
      token.supply += change;
      token.lastActionIndex = actionIndex;
    }
    this.touchedTicks.add(tickId);
    if (table === 'escrows') return;
    this.state.balances.set(pairKey(addressId, tickId), this.balance(addressId, tickId) + change);
    this.#touchedPairs.set(pairKey(addressId, tickId), [addressId, tickId]);
  }

  addToken(tickId: number, token: Token): void {
    this.state.tokens.set(tickId, token);
    this.touchedTicks.add(tickId);
  }

  addContract(part: ContractPart, fact: object): void {
    this.contract[part] = [...(this.contract[part] ?? []), fact];
  }

  /** Queues the current rows of the touched balances and tokens. */
  addDerivedRows(): void {
    for (const [address_id, tick_id] of this.#touchedPairs.values())
      this.rows.add('balances', { address_id, tick_id, amount: formatAmount(this.balance(address_id, tick_id)) });
    for (const tickId of this.touchedTicks) {
      const token = this.state.tokens.get(tickId);
      if (!token) continue;
      this.rows.add('tokens', {
        tick_id: tickId,
        supply: formatAmount(token.supply),
        max_supply: formatAmount(token.maxSupply),
        max_mint: formatAmount(token.maxMint),
        decimals: token.decimals,
        owner_id: token.ownerId,
        action_index: token.actionIndex,
        last_action_index: token.lastActionIndex
      });
    }
  }
}
