import type { BalanceKey } from '../../tables/state-reader.ts';
import type { CanonicalRow, ReplicaTable } from '../database/schema.ts';

const NAMES: ReadonlySet<string> = new Set(['index_addresses', 'index_tickers']);

/** Returns whether a change in a table that no group made moves leaves of the balance tree. */
export function movesLeaves(table: string): boolean {
  return table === 'balances' || NAMES.has(table);
}

/** The balances that a transaction touched. */
export class TouchedBalances {
  readonly #keys = new Map<string, BalanceKey>();
  /** A name that balances may refer to was taken away or replaced: which balances that moves is not known. */
  renamed = false;

  get keys(): readonly BalanceKey[] {
    return [...this.#keys.values()];
  }

  get size(): number {
    return this.#keys.size;
  }

  note(kind: 'removed' | 'added', { name: table, codecs }: ReplicaTable, list: readonly CanonicalRow[]): void {
    if (kind === 'removed' && NAMES.has(table)) this.renamed ||= list.length > 0;
    if (table !== 'balances') return;
    const [address = -1, tick = -1] = ['address_id', 'tick_id'].map((column) =>
      codecs.findIndex(({ name }) => name === column)
    );
    for (const row of list) {
      const key = [row[address] ?? '', row[tick] ?? ''] as const;
      this.#keys.set(key.join(), key);
    }
  }
}
