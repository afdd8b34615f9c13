import { createHash } from 'node:crypto';
import { connect, quoteName } from '../../../src/db/connection.ts';
import { inSnapshot } from '../../../src/db/in-snapshot.ts';
import { quoteText } from '../../../src/db/sql-literal.ts';
import { readGroup } from '../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip } from '../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../src/replication/tables/source-layout.ts';
import { blockMessage, encodeMessage } from '../../../src/wire/data/block.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import type { BlockMessage, WireRow } from '../../../src/wire/data/messages.ts';
import { TEST_KEY } from '../../../test/support/sync/source-thread.ts';
import { openLedger } from '../../../test/support/tables-in-use/ledger.ts';
import { ROWS_PER_BLOCK } from './dataset.ts';

/** Above every index of the dataset. */
const FIRST_INDEX = 10_000_000;
/** Actions in a block of the tables in use. */
const ACTIONS = 8;
/** Tables of which a block brings rows that are there already. */
const DERIVED: ReadonlySet<string> = new Set(['balances', 'sync_meta']);
const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const list = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Messages of blocks as large as those of the dataset, each of which credits one address among others. */
export function inventBlocks(first: number, count: number, hotAddress: number): BlockMessage[] {
  return list(count, (n) => inventBlock(first + n, n * ROWS_PER_BLOCK + FIRST_INDEX, hotAddress));
}

function inventBlock(height: number, base: number, hotAddress: number): BlockMessage {
  const hashes = { ledger_hash: sha(`l${height}`), actions_hash: sha(`c${height}`), contract_hash: sha(`k${height}`) };
  const amount = (n: number) => `${base + n}.000000000700000001`;
  const move = (n: number): WireRow => ({
    action_index: base + (n % 20),
    address_id: n === 0 ? hotAddress : 1 + ((base + n * 31) % 50_000),
    tick_id: n === 0 ? 1 : (base + n) % 700,
    amount: amount(n),
    event: `event-${sha(`e${base + n}`).slice(0, 32)}`
  });
  const credits = list(20, move);
  const data = {
    index_addresses: list(5, (n) => ({
      id: base + n,
      block_index: height,
      address: `bc1q${sha(`a${base + n}`).slice(0, 38)}`
    })),
    index_transactions: list(16, (n) => ({ id: base + n, hash: sha(`t${base + n}`) })),
    blocks: [{ block_index: height, block_time: 1_700_000_000 + height, ...hashes }],
    transactions: list(16, (n) => ({
      tx_index: base + n,
      tx_hash_id: base + n,
      block_index: height,
      block_time: 1_700_000_000 + height,
      source_id: n,
      fee: n % 5 === 0 ? null : base + n,
      data: `7c${sha(`d${base + n}`).slice(0, 30)}`
    })),
    actions: list(20, (n) => ({
      action_index: base + n,
      tx_index: base + (n % 16),
      block_index: height,
      action: 'SEND',
      status: 'valid',
      memo: n % 3 ? null : `memo "${n}" für ${sha(`m${base + n}`)}`
    })),
    credits,
    debits: list(16, (n) => move(n + 30))
  };
  const balances = credits.slice(0, 6).map((row, n) => ({
    id: base + n,
    address_id: row['address_id'],
    tick_id: row['tick_id'],
    amount: row['amount']
  }));
  return {
    type: 'block',
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'indexer',
    schema_version: 7,
    block_index: height,
    block_time: 1_700_000_000 + height,
    ...hashes,
    group: { first: height, last: height },
    data,
    updated_rows: { balances }
  } as BlockMessage;
}

/**
 * Writes blocks of the tables in use, of about as many actions each, and reads each as a source does.
 *
 * @returns their messages
 */
export async function recordBlocks(source: DatabaseCoordinates, seed: string, count: number): Promise<Buffer[]> {
  const writer = await connect(source);
  const reader = await connect(source, { finderKey: TEST_KEY, several: true });
  const ledger = await openLedger(writer, { dbType: 'indexer', seed, chain: 'litecoin' });
  const layout = await readLayout(reader, 'indexer');
  const memory = await inSnapshot(reader, async () =>
    memoryAtTip(reader, layout, await readTip(reader, layout.heads!))
  );
  const messages: Buffer[] = [];
  for (let block = 0; block < count; block++) {
    await ledger.writeBlock({ actions: ACTIONS });
    for await (const read of readGroup(reader, 'indexer', [], memory)) {
      const message = blockMessage({ dbType: 'indexer', chain: 'litecoin', network: 'regtest' }, read);
      messages.push(Buffer.from(encodeMessage(message)));
      memory.accept(read);
    }
  }
  await Promise.all([writer.end(), reader.end()]);
  return messages;
}

/** The statements that put the same rows in: one INSERT a table, what changed replaced, what went deleted. */
export function insertsOf({ data, updated_rows = {}, deleted_rows = {}, ranges = {} }: BlockMessage): string[] {
  const tuple = (row: WireRow) => `(${Object.values(row).map(literal).join(',')})`;
  const columns = ([row]: readonly WireRow[]) =>
    `(${Object.keys(row!)
      .map((name) => quoteName(name))
      .join(',')})`;
  const filled = (tables: Readonly<Record<string, readonly WireRow[]>>) =>
    Object.entries(tables).filter(([, rows]) => rows.length > 0);
  const put = (verb: string) => (entry: readonly [string, readonly WireRow[]]) =>
    `${verb} INTO ${quoteName(entry[0])} ${columns(entry[1])} VALUES ${entry[1].map(tuple).join(',')}`;
  const changed = Object.fromEntries(Object.entries(ranges).map(([table, { rows }]) => [table, rows]));
  return [
    ...filled(data).map((entry) => put(DERIVED.has(entry[0]) ? 'REPLACE' : 'INSERT')(entry)),
    ...[updated_rows, changed].flatMap((tables) => filled(tables).map(put('REPLACE'))),
    ...filled(deleted_rows).flatMap(([table, rows]) =>
      Object.values(Object.groupBy(rows, (row) => columns([row]))).map(
        (alike) => `DELETE FROM ${quoteName(table)} WHERE ${columns(alike!)} IN (${alike!.map(tuple).join(',')})`
      )
    )
  ];
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'object') return `FROM_BASE64(${quoteText((value as { __xbin__: string }).__xbin__)})`;
  return typeof value === 'number' ? String(value) : quoteText(String(value));
}
