import type { Query } from './reader.ts';

const NO_SUCH_TABLE = 1146;

/** Of which network a database says that it is, in `ledger_base` or `decoder_base`; null: it says nothing, as those of others. */
export async function networkOf(query: Query, table: 'ledger_base' | 'decoder_base'): Promise<string | null> {
  try {
    const [found] = await query<{ value: string }>(`SELECT value FROM ${table} WHERE name = 'network'`);
    return found?.value ?? null;
  } catch (caught) {
    if ((caught as { readonly errno?: number }).errno === NO_SUCH_TABLE) return null;
    throw caught;
  }
}
