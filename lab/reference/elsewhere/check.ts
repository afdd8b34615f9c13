import { connect, rows, type SqlRow } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { type ColumnCheck, columnChecks } from './column-checks.ts';
import { checkHashes } from './hash-checks.ts';
import { readLayout } from './layout.ts';
import { PAYMENT_CHECKS, SUM_CHECKS } from './sum-checks.ts';

/** Rows of one check. */
export interface Checked {
  readonly what: string;
  readonly rows: number;
  /** The first rows that are wrong; empty: none is. */
  readonly faults: readonly string[];
}

/** Checks of a database that were made, and those that could not be, with the reason. */
export interface DatabaseReport {
  readonly dbType: 'indexer' | 'decoder';
  readonly checked: readonly Checked[];
  readonly unchecked: readonly string[];
}

/** Wrong rows that are told of each check. */
const TOLD = 5;

/**
 * Checks a database that another indexer or decoder wrote by what its rows say of each other, in one snapshot.
 *
 * @param roles names of well-known addresses, by address
 * @throws {PlatformError} DATABASE_UNUSABLE naming each table and column that it lacks and every check needs
 */
export async function checkDatabase(
  to: DatabaseCoordinates,
  roles: ReadonlyMap<string, string> = new Map()
): Promise<DatabaseReport> {
  const connection = await connect(to, { statementLimitS: 0 });
  try {
    const layout = await readLayout(connection);
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    const { checks, lacking } = columnChecks(layout);
    const isIndexer = layout.dbType === 'indexer';
    const hasPayments =
      layout.has('coinpays', 'obligation_action_index', 'coin_amount', 'status_id') &&
      layout.has('coinpay_obligations', 'action_index', 'coin_amount');
    const checked: Checked[] = [];
    for (const check of [
      ...checks,
      ...(isIndexer ? SUM_CHECKS : []),
      ...(isIndexer && hasPayments ? PAYMENT_CHECKS : [])
    ])
      checked.push(await run(check, (sql) => rows<SqlRow>(connection, sql)));
    const unchecked = lacking.map((name) => `${name}: the database has no such column`);
    if (!isIndexer) return { dbType: 'decoder', checked, unchecked: [...unchecked, ...UNCHECKED.decoder] };
    const { blocks, withContracts, faults } = await checkHashes(connection, layout, roles);
    checked.push({ what: 'hashes of each block are those of its rows', rows: blocks, faults });
    if (withContracts > 0)
      unchecked.push(`contract hashes of ${withContracts} blocks: how rows of contracts are hashed is not published`);
    return { dbType: 'indexer', checked, unchecked: [...unchecked, ...UNCHECKED.indexer] };
  } finally {
    connection.destroy();
  }
}

async function run(
  { what, table, wrong, meaning }: ColumnCheck,
  ask: (sql: string) => Promise<SqlRow[]>
): Promise<Checked> {
  const [count] = await ask(`SELECT COUNT(*) AS count FROM ${table}`);
  const found = await ask(`${wrong} LIMIT ${TOLD + 1}`);
  const faults = found.slice(0, TOLD).map((row) => {
    const columns = Object.entries(row).flatMap(([name, value]) => (name === 'is_other' ? [] : [`${name} ${value}`]));
    return `${columns.join(', ')}${meaning === undefined ? '' : `: ${meaning(row)}`}`;
  });
  return { what, rows: Number(count!['count']), faults: found.length > TOLD ? [...faults, 'and more'] : faults };
}

const UNCHECKED = {
  indexer: [
    'what each action did: payments and payloads are in the database of a decoder; an indexer that reads it can be compared',
    'state_hash_id: owners and settings of tokens at past heights are in no table',
    'tables of one node, such as mirrors of a hub and trees: no rule ties them to the blocks'
  ],
  decoder: [
    'hashes and payloads of transactions: the node has them; a decoder that reads it can be compared',
    'mempool_transactions, events: they are of one node'
  ]
} as const;
