import type { BlockMessage, WireRow } from '../../src/wire/data/messages.ts';
import { type Block, type Hashes, nameOf, transfersOf } from './chain.ts';
import type { Content } from './content.ts';

/** The rows that a subscriber has, table by table, by what tells one from another. */
export type Held = Readonly<
  Record<'index_addresses' | 'blocks' | 'tokens' | 'sync_meta', ReadonlyMap<unknown, WireRow>>
> & {
  readonly transfers: ReadonlyMap<number, readonly WireRow[]>;
};

const KEYS = { index_addresses: 'id', blocks: 'block_index', tokens: 'tick', sync_meta: 'block_index' } as const;

/** Whether a range replaces a row: it lies in its spans, and in no block of the group. */
function replaces({ ranges = {}, group }: BlockMessage, table: string, row: WireRow): boolean {
  const { column = null, spans = [] } = ranges[table] ?? {};
  const height = row['block_index'];
  if (column === null || (typeof height === 'number' && group && height >= group.first && height <= group.last))
    return false;
  const value = row[column] as number | null;
  return spans.some((span) =>
    span === null ? value === null : value !== null && value >= span[0] && value <= span[1]
  );
}

/** Applies one message to the rows that were held. @see src/wire/messages.ts */
export function applied(held: Held, message: BlockMessage): Held {
  const { block_index, data, updated_rows = {}, deleted_rows = {}, ranges = {} } = message;
  const next = Object.fromEntries(
    Object.entries(KEYS).map(([table, key]) => {
      const rows = new Map(held[table as keyof typeof KEYS]);
      for (const [name, row] of rows) if (replaces(message, table, row)) rows.delete(name);
      for (const gone of deleted_rows[table] ?? [])
        for (const [name, row] of rows)
          if (Object.entries(gone).every(([at, value]) => row[at] === value)) rows.delete(name);
      const sent = [...(ranges[table]?.rows ?? []), ...(data[table] ?? []), ...(updated_rows[table] ?? [])];
      for (const row of sent) rows.set(row[key], row);
      return [table, rows];
    })
  );
  // A log is told of new blocks, and follows the rows of older ones.
  if (ranges['blocks']) next['sync_meta'] = next['blocks']!;
  const transfers = new Map(held.transfers);
  transfers.delete(block_index);
  for (const [height, list] of transfers)
    transfers.set(
      height,
      list.filter((row) => !replaces(message, 'transfers', row))
    );
  for (const row of [...(ranges['transfers']?.rows ?? []), ...(data['transfers'] ?? [])]) {
    const height = Number(row['block_index']);
    transfers.set(height, [...(transfers.get(height) ?? []), row]);
  }
  return { ...next, transfers } as unknown as Held;
}

/** Returns the rows of a snapshot at a block. */
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

/** The same rows as texts, up to a block: rows of the next one are told as soon as they are there. */
export function textsOf(held: Held, height: number): Content {
  const isThere = (row: WireRow) => Number(row['block_index'] ?? 0) <= height;
  const list = (rows: ReadonlyMap<unknown, WireRow>, text: (row: WireRow) => string) =>
    [...rows.values()].filter(isThere).map(text);
  return {
    index_addresses: list(held.index_addresses, (row) => `${row['id']} ${row['address']}`),
    blocks: list(held.blocks, (row) => `${row['block_index']} ${row['block_time']}`),
    transfers: [...held.transfers.values()]
      .flat()
      .filter(isThere)
      .map((row) => `${row['block_index']} ${row['address_id']} ${row['amount']}`),
    tokens: list(held.tokens, (row) => `${row['tick']} ${row['supply']}`),
    sync_meta: list(held.sync_meta, logText)
  };
}
