import type { SqlRow } from '../../../db/connection.ts';
import type { TablePlan } from '../../tables/classify.ts';
import HINTS from '../../tables/topology-hints.json' with { type: 'json' };

/** The keys in one table that rows of a block's own tables name. */
interface TouchRule {
  readonly plan: TablePlan;
  /** Columns of the key. */
  readonly key: readonly string[];
  /** The columns of a block's row that hold such a key, each as long as `key`. */
  readonly holders: (columns: readonly string[]) => readonly (readonly string[])[];
}

/**
 * Returns the rules by which a block's own rows change rows of tables without a block: in derived tables those under the keys that
 * they name, in other tables those that the hints name.
 */
export function touchRules(plans: readonly TablePlan[]): TouchRule[] {
  return plans.flatMap((plan): TouchRule[] => {
    const { identity } = plan;
    if (plan.class === 'derived' && identity) {
      const has = (columns: readonly string[]) => identity.every((name) => columns.includes(name));
      return [{ plan, key: identity, holders: (columns) => (has(columns) ? [identity] : []) }];
    }
    const hint = HINTS.find(({ table, touched }) => table === plan.name && touched !== undefined)?.touched;
    if (plan.class !== 'mutable' || !hint || !plan.columns.some(({ name }) => name === hint.column)) return [];
    const pattern = new RegExp(hint.by);
    const holders = (columns: readonly string[]) => columns.filter((name) => pattern.test(name)).map((name) => [name]);
    return [{ plan, key: [hint.column], holders }];
  });
}

/** Returns the column in which every change of a table's row leaves a later number, as the hints say; null: there is none. */
export function stampOf({ name, class: tableClass, columns }: TablePlan): string | null {
  const stamped = HINTS.find((hint) => hint.table === name && hint.stamped !== undefined)?.stamped;
  const isThere = columns.some((column) => column.name === stamped && /int/i.test(column.type));
  return tableClass === 'mutable' && stamped !== undefined && isThere ? stamped : null;
}

/** Keys by table, as JSON text of their values. */
export class TouchedKeys {
  readonly #rules: readonly TouchRule[];
  readonly #keys = new Map<string, Set<string>>();

  constructor(rules: readonly TouchRule[]) {
    this.#rules = rules;
  }

  /** Takes note of what rows of one table name. */
  note({ columns }: TablePlan, found: readonly SqlRow[]): void {
    if (found.length === 0) return;
    const names = columns.map(({ name }) => name);
    for (const { plan, holders } of this.#rules) {
      for (const holder of holders(names)) {
        for (const row of found) {
          const values = holder.map((name) => row[name]);
          if (values.every((value) => value !== null)) this.add(plan.name, JSON.stringify(values));
        }
      }
    }
  }

  add(table: string, key: string): void {
    const keys = this.#keys.get(table) ?? new Set<string>();
    this.#keys.set(table, keys.add(key));
  }

  of(table: string): ReadonlySet<string> {
    return this.#keys.get(table) ?? new Set();
  }

  get rules(): readonly TouchRule[] {
    return this.#rules;
  }
}
