import type { Filter, Subject, Way } from './list.ts';

/** Returns names of indexes: by the column, then by the key; or by the column alone, where rows are stored in the order of the key. */
const indexesOf = (column: string) => [`${column}_action_index`, column];

interface Keyed {
  /** The column that tells the rows apart and gives their order; default the action that wrote them. */
  readonly key?: string;
  /** The name of the actions that write into the table; default the table's in the singular. */
  readonly action?: string;
}

/** The id of a text that a statement looks up itself. */
export const idOf = {
  status: '(SELECT i.id FROM index_statuses i WHERE i.status = ?)',
  pubkey: '(SELECT i.id FROM index_pubkeys i WHERE i.pubkey = ?)',
  coin: '(SELECT i.id FROM index_coins i WHERE i.coin = ?)'
} as const;

/** Ways to the rows of a table that hang on an action, or have a key of their own; the rows are `t`, their actions `a`. */
export function waysOf(table: string, { key = 'action_index', action }: Keyed = {}) {
  /** Returns the way by a column of the table itself. @param value of the column, by what is asked for */
  const own = (column: string, value = '?'): Way => ({
    from: `${table} t`,
    indexes: column === 'tick_id' ? [`${table}_tick_action_amount`, ...indexesOf(column)] : indexesOf(column),
    key: `t.${key}`,
    where: `t.${column} = ${value}`,
    rows: `t.${column} = ${value}`
  });
  /** Returns the way by a condition on `actions`. @param indexes the best first */
  const acted = (rows: string, indexes: readonly string[], more = ''): Way => ({
    from: 'actions a',
    indexes,
    key: 'a.action_index',
    isUnique: true,
    where: `${rows}${more} AND EXISTS (SELECT 1 FROM ${table} t WHERE t.action_index = a.action_index)`,
    rows
  });
  // Only actions of the name of the table write into it; without their name all actions of a source would be read.
  const name = action ?? table.slice(0, -1).toUpperCase();
  const kind = `(SELECT n.id FROM index_actions n WHERE n.action = '${name}' LIMIT 1)`;
  const source = acted('a.source_id = ?', ['source_id_action_id', 'source_id'], ` AND a.action_id = ${kind}`);
  return {
    own: (takes: Subject, ...columns: readonly string[]): Filter => ({ takes, ways: columns.map((each) => own(each)) }),
    /** By a column that holds the id of a text. */
    texts: (column: string, of: keyof typeof idOf): Filter => ({ takes: 'word', ways: [own(column, idOf[of])] }),
    block: { takes: 'height', ways: [acted('a.block_index = ?', ['block_index'])] } satisfies Filter,
    action: { takes: 'action', ways: [own('action_index')] } satisfies Filter,
    source: { takes: 'address', ways: [source] } satisfies Filter,
    /** The source of an action, or an address in one of the columns. */
    address: (...columns: readonly string[]): Filter => ({
      takes: 'address',
      ways: [source, ...columns.map((each) => own(each))]
    }),
    all: every(`${table} t`, `t.${key}`),
    /** All rows of a table in which several have one key. */
    shared: every(`${table} t`, `t.${key}`, { isShared: true })
  };
}

/** Types in `mappings_actions`, as databases in use have them. */
const MAPPED = { ticker: 1, address: 2 } as const;

/** Actions that touched an address or a ticker. */
export function mapped(takes: keyof typeof MAPPED): Filter {
  const where = `m.type_id = ${MAPPED[takes]} AND m.id = ?`;
  const indexes = ['type_id_id_action_index'];
  return { takes, ways: [{ from: 'mappings_actions m', indexes, key: 'm.action_index', where, rows: 'TRUE' }] };
}

/** Actions by a column of theirs. */
export function actionsBy(takes: Subject, column: string, value = '?'): Filter {
  const condition = `a.${column} = ${value}`;
  const way = { from: 'actions a', indexes: [column], key: 'a.action_index', where: condition, rows: condition };
  return { takes, ways: [{ ...way, isUnique: true }] };
}

/** Returns a filter for rows of a table with a key of their own, by a condition on them. @param index that has the keys in order */
export function keyed(takes: Subject, from: string, key: string, where: string, index?: string): Filter {
  const indexes = index === undefined ? {} : { indexes: [index] };
  return { takes, ways: [{ from, ...indexes, key, isUnique: true, where, rows: 'TRUE' }] };
}

/** Tokens by their names, which no index finds. @see readNamed */
export const named = (takes: 'pattern' | 'children'): Filter => ({ takes, ways: [] });

/**
 * Returns a filter for every row.
 *
 * @param options `isDense`: the keys have no gaps, so they tell how many there are; `isShared`: rows may have one key
 */
export function every(from: string, key: string, { isDense = false, isShared = false } = {}): Filter {
  const total = { total: `SELECT MAX(${key}) - MIN(${key}) + 1 AS total FROM ${from}` };
  const { takes, ways } = keyed('everything', from, key, 'TRUE');
  const shared = ways.map(({ isUnique: _, ...way }) => way);
  return { takes, ways: isShared ? shared : ways, ...(isDense ? total : {}) };
}
