import { connect, rows } from '../../src/db/connection.ts';
import type { ChainBlock } from '../../src/indexer/block/block.ts';
import { TABLES } from '../../src/indexer/store/schema.ts';
import type { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';

/** Columns that hold the id of a text. */
const TEXT_OF: Readonly<Record<string, string>> = {
  action_id: 'index_actions.action',
  coin1_id: 'index_coins.coin',
  coin2_id: 'index_coins.coin',
  coin_id: 'index_coins.coin',
  fiat_id: 'index_fiats.code',
  memo_id: 'index_memos.memo',
  signing_pubkey_id: 'index_pubkeys.pubkey',
  status_id: 'index_statuses.status',
  tx_hash_id: 'index_transactions.hash',
  ledger_hash_id: 'index_transactions.hash',
  actions_hash_id: 'index_transactions.hash',
  contract_hash_id: 'index_transactions.hash',
  state_hash_id: 'index_transactions.hash'
};
/** Tables that show how a database came about, or that one node has for itself. */
const HISTORY: ReadonlySet<string> = new Set([
  'events',
  'push_generations',
  'pending_hub_pushes',
  'schema_migrations',
  'state_tree_roots'
]);

type Dump = Record<string, string[]>;

/** Writes all blocks: one call writes as many as its time allows, at least one. */
export async function addAllBlocks(
  store: Pick<IndexerStore, 'addBlocks'>,
  blocks: readonly ChainBlock[],
  decoderTip?: number
): Promise<void> {
  for (let at = 0; at < blocks.length; ) at += (await store.addBlocks(blocks.slice(at), decoderTip)).length;
}

/** The rows of an indexer database as they are, ids and all, by table, sorted: equal chains give equal dumps. */
export async function dumpIndexer(from: DatabaseCoordinates): Promise<Dump> {
  return await collect(dumpTables(from));
}

/** The same for a reader: with texts for their ids. */
export async function dumpTexts(from: DatabaseCoordinates): Promise<Dump> {
  return await collect(dumpTables(from, textsOf));
}

/** Returns what `dumpIndexer` returns, one table after the other. @param columnsOf the columns to select of a table */
export async function* dumpTables(
  from: DatabaseCoordinates,
  columnsOf: (table: string) => string = () => '*'
): AsyncGenerator<[table: string, rows: string[]], undefined> {
  const connection = await connect(from);
  try {
    for (const name of [
      ...TABLES.keys(),
      'chain_blocks',
      'open_orders',
      'deciding_actions',
      'trade_rests',
      'offer_edits',
      'list_counts'
    ]) {
      if (HISTORY.has(name)) continue;
      const found = await rows(connection, `SELECT ${columnsOf(name)} FROM ${name} t`);
      yield [name, found.map((row) => JSON.stringify(row)).sort()];
    }
  } finally {
    await connection.end();
  }
}

async function collect(tables: AsyncGenerator<[table: string, rows: string[]]>): Promise<Dump> {
  const dump: Dump = {};
  for await (const [name, found] of tables) if (found.length > 0) dump[name] = found;
  return dump;
}

function textsOf(name: string): string {
  const columns = TABLES.get(name)?.columns ?? [{ name: '*' }];
  const selected = columns.map((column) => {
    const text = name === 'files' && column.name === 'type_id' ? 'index_mime_types.type' : TEXT_OF[column.name];
    if (text === undefined) return `t.${column.name}`;
    const [table, value] = text.split('.');
    return `(SELECT i.${value} FROM ${table} i WHERE i.id = t.${column.name}) AS ${column.name}`;
  });
  return selected.join(', ');
}
