import { connect, rows } from '../../src/db/core/connection.ts';
import { TABLES } from '../../src/indexer/store/schema.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';

/** Columns that hold the id of a text whose ids a rollback leaves as they are: the texts are compared. */
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
/** What tells how a database came about. */
const HISTORY: ReadonlySet<string> = new Set([
  ...[
    'events',
    'push_generations',
    'index_actions',
    'index_coins',
    'index_fiats',
    'index_memos',
    'index_mime_types',
    'index_pubkeys'
  ],
  ...['index_statuses', 'index_transactions', 'schema_migrations']
]);

/** The rows of an indexer database as texts, by table, sorted: equal ledgers give equal dumps. */
export async function dumpIndexer(from: DatabaseCoordinates): Promise<Record<string, string[]>> {
  const dump: Record<string, string[]> = {};
  for await (const [name, found] of dumpTables(from)) if (found.length > 0) dump[name] = found;
  return dump;
}

/** The same, one table after the other. */
export async function* dumpTables(
  from: DatabaseCoordinates
): AsyncGenerator<[table: string, rows: string[]], undefined> {
  const connection = await connect(from);
  try {
    for (const [name, { columns }] of [...TABLES, ['chain_blocks', { columns: [] }] as const]) {
      if (HISTORY.has(name)) continue;
      const surrogate = columns.find(({ extra }) => extra === 'auto')?.name;
      const kept = columns
        .map((column) => column.name)
        .filter((column) => column !== surrogate || name.startsWith('index_'));
      const select = kept.map((column) => {
        const text = name === 'files' && column === 'type_id' ? 'index_mime_types.type' : TEXT_OF[column];
        if (text === undefined) return `t.${column}`;
        const [table, value] = text.split('.');
        return `(SELECT i.${value} FROM ${table} i WHERE i.id = t.${column}) AS ${column}`;
      });
      const found = await rows(connection, `SELECT ${kept.length > 0 ? select.join(', ') : '*'} FROM ${name} t`);
      yield [name, found.map((row) => JSON.stringify(row)).sort()];
    }
  } finally {
    await connection.end();
  }
}
