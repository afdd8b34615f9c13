import type { Filter, Subject, Way } from './list.ts';

/** Ways to the rows of a table that hang on an action; the rows are `t`, their actions `a`. */
export function waysOf(table: string) {
  /** By a column of the table itself. */
  const own = (column: string): Way => ({
    from: `${table} t`,
    key: 't.action_index',
    where: `t.${column} = ?`,
    rows: `t.${column} = ?`
  });
  /** By a column of `actions`. */
  const acted = (column: string): Way => ({
    from: 'actions a',
    key: 'a.action_index',
    isUnique: true,
    where: `a.${column} = ? AND EXISTS (SELECT 1 FROM ${table} t WHERE t.action_index = a.action_index)`,
    rows: `a.${column} = ?`
  });
  return {
    own: (takes: Subject, ...columns: readonly string[]): Filter => ({ takes, ways: columns.map(own) }),
    block: { takes: 'height', ways: [acted('block_index')] } satisfies Filter,
    action: { takes: 'action', ways: [own('action_index')] } satisfies Filter,
    source: { takes: 'address', ways: [acted('source_id')] } satisfies Filter,
    /** The source of an action, or an address in one of the columns. */
    address: (...columns: readonly string[]): Filter => ({
      takes: 'address',
      ways: [acted('source_id'), ...columns.map(own)]
    })
  };
}

const MAPPED = { address: 1, ticker: 2 } as const;

/** Actions that touched an address or a ticker. */
export function mapped(takes: keyof typeof MAPPED): Filter {
  const where = `m.type_id = ${MAPPED[takes]} AND m.id = ?`;
  return { takes, ways: [{ from: 'mappings_actions m', key: 'm.action_index', where, rows: 'TRUE' }] };
}

/** Actions by a column of theirs. */
export function actionsBy(takes: Subject, column: string, value = '?'): Filter {
  const condition = `a.${column} = ${value}`;
  return {
    takes,
    ways: [{ from: 'actions a', key: 'a.action_index', isUnique: true, where: condition, rows: condition }]
  };
}

/** Rows of a table with a key of their own, by a condition on them. */
export function keyed(takes: Subject, from: string, key: string, where: string): Filter {
  return { takes, ways: [{ from, key, isUnique: true, where, rows: 'TRUE' }] };
}

/** Every row, of which each has a key of its own. @param options `isDense`: the keys have no gaps, so they tell how many there are */
export function every(from: string, key: string, { isDense = false } = {}): Filter {
  const total = { total: `SELECT MAX(${key}) - MIN(${key}) + 1 AS total FROM ${from}` };
  return { ...keyed('everything', from, key, 'TRUE'), ...(isDense ? total : {}) };
}
