import type { BlockMessage, WireRow } from '../../src/wire/messages.ts';
import { type Block, type Hashes, nameOf, transfersOf } from './chain.ts';
import type { Content } from './content.ts';

/** The rows that a subscriber has, table by table, by what tells one from another. */
export type Held = Readonly<
  Record<'index_addresses' | 'blocks' | 'tokens' | 'sync_meta', ReadonlyMap<unknown, WireRow>>
> & {
  readonly transfers: ReadonlyMap<number, readonly WireRow[]>;
};

const KEYS = { index_addresses: 'id', blocks: 'block_index', tokens: 'tick', sync_meta: 'block_index' } as const;

/** What one message says beside what was held. @see src/wire/messages.ts */
export function applied(
  held: Held,
  { block_index, data, updated_rows = {}, deleted_rows = {}, whole = [], rescoped = {} }: BlockMessage
): Held {
  const next = Object.fromEntries(
    Object.entries(KEYS).map(([table, key]) => {
      const rows = new Map(whole.includes(table) ? [] : held[table as keyof typeof KEYS]);
      for (const row of deleted_rows[table] ?? []) rows.delete(row[key]);
      for (const row of [...(data[table] ?? []), ...(updated_rows[table] ?? [])]) rows.set(row[key], row);
      return [table, rows];
    })
  );
  // A log is told of new blocks, and follows the rows of older ones.
  if (rescoped['blocks']) next['sync_meta'] = next['blocks']!;
  const transfers = new Map(held.transfers);
  for (const height of [block_index, ...(rescoped['transfers'] ?? [])]) transfers.delete(height);
  for (const row of data['transfers'] ?? []) {
    const height = Number(row['block_index']);
    transfers.set(height, [...(transfers.get(height) ?? []), row]);
  }
  return { ...next, transfers } as unknown as Held;
}

/** What a snapshot at a block holds. */
export function heldAt(tip: Block): Held {
  const [addresses, blocks, log, transfers] = [new Map(), new Map(), new Map(), new Map<number, readonly WireRow[]>()];
  for (let block: Block | null = tip; block !== null; block = block.parent) {
    for (const row of block.addresses) addresses.set(row['id'], row);
    const head = { block_index: block.height, block_time: block.time, ...block.hashes };
    blocks.set(block.height, head);
    log.set(block.height, head);
    transfers.set(block.height, transfersOf(tip, block));
  }
  return { index_addresses: addresses, blocks, tokens: tip.tokens, sync_meta: log, transfers };
}

const logText = (row: WireRow): string =>
  `${row['block_index']} ${row['block_time']} ${nameOf(row as unknown as Hashes)}`;

/** The same rows as texts. */
export function textsOf(held: Held): Content {
  const list = (rows: ReadonlyMap<unknown, WireRow>, text: (row: WireRow) => string) => [...rows.values()].map(text);
  return {
    index_addresses: list(held.index_addresses, (row) => `${row['id']} ${row['address']}`),
    blocks: list(held.blocks, (row) => `${row['block_index']} ${row['block_time']}`),
    transfers: [...held.transfers.values()]
      .flat()
      .map((row) => `${row['block_index']} ${row['address_id']} ${row['amount']}`),
    tokens: list(held.tokens, (row) => `${row['tick']} ${row['supply']}`),
    sync_meta: list(held.sync_meta, logText)
  };
}
