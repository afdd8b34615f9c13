import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import { toLiteral } from '../../../db/sql-literal.ts';
import type { WireRows } from '../../../wire/data/messages.ts';
import type { Span } from '../database/heights.ts';
import { isNamed } from '../database/row-difference.ts';
import { selectByIdentity } from '../database/row-statements.ts';
import { type CanonicalRow, keyText, type ReplicaSchema, type ReplicaTable } from '../database/schema.ts';
import { type GroupTransaction, selectSpan } from './group-transaction.ts';
import { canonicalRows, wantsOf } from './table-wants.ts';

/** A table whose amounts add up to balances, with its sign. */
const FEEDERS = [
  ['credits', '+'],
  ['debits', '-']
] as const;
const PAIRS_AT_ONCE = 500;

/**
 * Sets the balances that a message's credits and debits touch to the sums of all credits and debits of these pairs.
 *
 * For a source that does not know groups: the balances that it sends may be of any later height.
 */
export async function deriveBalances(
  connection: Statements,
  group: GroupTransaction,
  schema: ReplicaSchema,
  data: WireRows
): Promise<void> {
  const table = schema.byName.get('balances');
  if (table?.plan.class !== 'derived' || !table.identity) return;
  const touched = touchedKeys(schema, table, (feeder) => canonicalRows(feeder, data[feeder.name] ?? []));
  await deriveTouched(connection, group, table, touched);
}

/**
 * Sets the balances of some pairs to the sums of their credits and debits; a pair with sum zero has no row.
 *
 * @param touched rows of nothing but the pair
 */
export async function deriveTouched(
  connection: Statements,
  group: Pick<GroupTransaction, 'take'>,
  table: ReplicaTable,
  touched: readonly CanonicalRow[]
): Promise<void> {
  const amount = table.codecs.findIndex(({ name }) => name === 'amount');
  for (let from = 0; amount >= 0 && from < touched.length; from += PAIRS_AT_ONCE) {
    const pairs = touched.slice(from, from + PAIRS_AT_ONCE);
    const sums = await readSums(connection, table, pairs);
    const existing = await selectByIdentity(connection, table, pairs);
    const here = new Map(existing.map((row) => [keyText(row, table.identity!), row]));
    const changed: CanonicalRow[] = [];
    const emptied: CanonicalRow[] = [];
    for (const pair of pairs) {
      const key = keyText(pair, table.identity!);
      const own = here.get(key);
      const sum = sums.get(key) ?? '0';
      if (Number(sum) !== 0) changed.push((own ?? pair).with(amount, amountText(table, sum)));
      else if (own) emptied.push(own);
    }
    const gone = [{ key: table.identity!, list: emptied }];
    await group.take([{ ...wantsOf(table), upserts: changed, gone }]);
  }
}

/** Reads the balances that the credits and debits of some blocks name, as rows of the pair alone. */
export async function touchedInSpan(
  connection: Statements,
  schema: ReplicaSchema,
  balances: ReplicaTable,
  span: Span
): Promise<CanonicalRow[]> {
  const found: Record<string, readonly CanonicalRow[]> = {};
  for (const [name] of FEEDERS) {
    const feeder = schema.byName.get(name);
    if (feeder?.plan.scope) found[name] = await selectSpan(connection, feeder, span);
  }
  return touchedKeys(schema, balances, (feeder) => found[feeder.name] ?? []);
}

/** Selects the keys that credits and debits name, as rows of nothing else. */
function touchedKeys(
  schema: ReplicaSchema,
  balances: ReplicaTable,
  rowsOf: (feeder: ReplicaTable) => readonly CanonicalRow[]
): CanonicalRow[] {
  const found = new Map<string, CanonicalRow>();
  for (const [name] of FEEDERS) {
    const feeder = schema.byName.get(name);
    if (!feeder) continue;
    const from = balances.identity!.map((at) =>
      feeder.codecs.findIndex((codec) => codec.name === balances.codecs[at]!.name)
    );
    for (const row of rowsOf(feeder)) {
      const key: (string | null)[] = balances.codecs.map(() => null);
      for (const [index, at] of balances.identity!.entries()) key[at] = row[from[index]!] ?? null;
      if (!isNamed(balances, key)) continue; // its owner is unknown
      found.set(keyText(key, balances.identity!), key);
    }
  }
  return [...found.values()];
}

/** Credits minus debits of each pair, by key, with 18 decimals. */
async function readSums(
  connection: Statements,
  balances: ReplicaTable,
  pairs: readonly CanonicalRow[]
): Promise<Map<string, string>> {
  const codecs = balances.identity!.map((at) => balances.codecs[at]!);
  const columns = codecs.map(({ name }) => quoteName(name)).join(', ');
  const keys = pairs.map(
    (pair) => `(${balances.identity!.map((at, index) => toLiteral(codecs[index]!, pair[at]!)).join(',')})`
  );
  const parts = FEEDERS.map(
    ([name, sign]) =>
      `SELECT ${columns}, ${sign}CAST(amount AS DECIMAL(65,18)) AS amount FROM ${quoteName(name)} WHERE (${columns}) IN (${keys.join(',')})`
  );
  const found = await rows(
    connection,
    `SELECT ${columns}, SUM(amount) AS total FROM (${parts.join(' UNION ALL ')}) p GROUP BY ${columns}`
  );
  return new Map(
    found.map((row) => {
      const key: (string | null)[] = balances.codecs.map(() => null);
      for (const at of balances.identity!) key[at] = String(row[balances.codecs[at]!.name]);
      return [keyText(key, balances.identity!), String(row['total'])];
    })
  );
}

/** Returns a sum as the column prints it: full scale in a DECIMAL, without trailing zeros in a text. */
function amountText({ plan }: ReplicaTable, sum: string): string {
  const type = plan.columns.find(({ name }) => name === 'amount')!.type;
  const scale = /^decimal\(\d+,(\d+)\)/i.exec(type)?.[1];
  const [whole = '0', fraction = ''] = sum.split('.');
  if (scale === undefined) return sum.includes('.') ? sum.replace(/\.?0+$/, '') : sum;
  return Number(scale) === 0 ? whole : `${whole}.${fraction.padEnd(Number(scale), '0').slice(0, Number(scale))}`;
}
