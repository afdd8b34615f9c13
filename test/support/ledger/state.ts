import { parseAmount } from '../../../src/consensus/amount.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';

/** A lookup table in memory: the id of every value, dense: the next id is the highest surviving one plus one. */
export class Lookup {
  readonly #ids = new Map<string, number>();
  readonly #values = new Map<number, string>();
  #last = 0;

  remember(id: number, value: string): void {
    this.#ids.set(value, id);
    this.#values.set(id, value);
    this.#last = Math.max(this.#last, id);
  }

  idOf(value: string): number | undefined {
    return this.#ids.get(value);
  }

  valueOf(id: number): string {
    return this.#values.get(id) ?? '';
  }

  /** Deals the next id. */
  add(value: string): number {
    this.remember(this.#last + 1, value);
    return this.#last;
  }

  get size(): number {
    return this.#ids.size;
  }

  get last(): number {
    return this.#last;
  }
}

export interface Token {
  supply: bigint;
  readonly maxSupply: bigint;
  readonly maxMint: bigint;
  readonly decimals: number;
  readonly ownerId: number;
  readonly actionIndex: number;
  lastActionIndex: number;
}

/** The column that holds the value, by lookup table. */
export const LOOKUP_VALUES = {
  index_actions: 'action',
  index_addresses: 'address',
  index_tickers: 'tick',
  index_transactions: 'hash',
  index_statuses: 'status',
  index_memos: 'memo',
  index_pubkeys: 'pubkey',
  index_fiats: 'fiat',
  index_coins: 'coin'
} as const;
export type LookupName = keyof typeof LOOKUP_VALUES;

/** What the writer must know to write the next block, all of it read from the database. */
export interface LedgerState {
  readonly lookups: Readonly<Record<LookupName, Lookup>>;
  /** By `tick_id`. */
  readonly tokens: Map<number, Token>;
  /** By `address_id:tick_id`. */
  readonly balances: Map<string, bigint>;
  lastTx: number;
  lastAction: number;
  lastExecution: number;
  tip:
    | { readonly height: number; readonly ledger: string; readonly actions: string; readonly contract: string }
    | undefined;
}

export async function loadState(connection: Connection): Promise<LedgerState> {
  const lookups: Partial<Record<LookupName, Lookup>> = {};
  for (const [table, column] of Object.entries(LOOKUP_VALUES) as [LookupName, string][]) {
    const lookup = new Lookup();
    const value = table === 'index_pubkeys' ? 'HEX(pubkey)' : column;
    for (const row of await rows<{ id: number; value: string }>(
      connection,
      `SELECT id, ${value} AS value FROM ${table}`
    ))
      lookup.remember(row.id, row.value);
    lookups[table] = lookup;
  }
  const [last] = await rows<{ tx: number; action: number; execution: number }>(
    connection,
    `SELECT (SELECT COALESCE(MAX(tx_index), 0) FROM transactions) AS tx, (SELECT COALESCE(MAX(action_index), 0) FROM actions) AS action,
            (SELECT COALESCE(MAX(execution_index), 0) FROM contract_executions) AS execution`
  );
  const [tip] = await rows<{ height: number; ledger: string; actions: string; contract: string }>(
    connection,
    `SELECT b.block_index AS height, l.hash AS ledger, a.hash AS actions, c.hash AS contract FROM blocks b
     JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
     JOIN index_transactions c ON c.id = b.contract_hash_id ORDER BY b.block_index DESC LIMIT 1`
  );
  return {
    lookups: lookups as Record<LookupName, Lookup>,
    tokens: await loadTokens(connection),
    balances: await loadBalances(connection),
    lastTx: Number(last!.tx),
    lastAction: Number(last!.action),
    lastExecution: Number(last!.execution),
    tip
  };
}

async function loadTokens(connection: Connection): Promise<Map<number, Token>> {
  const found = await rows<{
    tick_id: number;
    supply: string;
    max_supply: string;
    max_mint: string;
    decimals: number;
    owner_id: number;
    action_index: number;
    last_action_index: number;
  }>(
    connection,
    'SELECT tick_id, supply, max_supply, max_mint, decimals, owner_id, action_index, last_action_index FROM tokens'
  );
  const tokens = found.map((row): [number, Token] => [
    row.tick_id,
    {
      supply: parseAmount(row.supply) ?? 0n,
      maxSupply: parseAmount(row.max_supply) ?? 0n,
      maxMint: parseAmount(row.max_mint) ?? 0n,
      decimals: row.decimals,
      ownerId: row.owner_id,
      actionIndex: row.action_index,
      lastActionIndex: row.last_action_index
    }
  ]);
  return new Map(tokens);
}

async function loadBalances(connection: Connection): Promise<Map<string, bigint>> {
  const found = await rows<{ address_id: number; tick_id: number; amount: string }>(
    connection,
    'SELECT address_id, tick_id, amount FROM balances'
  );
  return new Map(found.map((row) => [pairKey(row.address_id, row.tick_id), parseAmount(row.amount) ?? 0n]));
}

export function pairKey(addressId: number, tickId: number): string {
  return `${addressId}:${tickId}`;
}
