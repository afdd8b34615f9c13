import type { Query } from './reader.ts';

const NO_SUCH_TABLE = 1146;

/**
 * Returns the network that a database names in `ledger_base` or `decoder_base`; null: it names none, as databases of other
 * programs.
 */
export async function networkOf(query: Query, table: 'ledger_base' | 'decoder_base'): Promise<string | null> {
  try {
    const [found] = await query<{ value: string }>(`SELECT value FROM ${table} WHERE name = 'network'`);
    return found?.value ?? null;
  } catch (caught) {
    if ((caught as { readonly errno?: number }).errno === NO_SUCH_TABLE) return null;
    throw caught;
  }
}
