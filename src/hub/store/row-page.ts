import type { ArgumentsOf, StatementName, Statements } from './statements.ts';

/** Some rows as JSON: the thread that read them wrote it, and the bytes move to the asking thread. */
export interface RowPage {
  /** The rows, each with a comma before it. */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly count: number;
  /** Id of the last row; null: there is none. */
  readonly lastId: number | null;
}

/** Statements whose rows have an id and are read some at a time. */
export type PagedName = Extract<StatementName, 'newestSnapshots' | 'oraclePricesOf' | 'pageOf' | 'pageOfInstallations'>;

/** Runs a statement and answers with its rows as a page. */
export type ReadPage = <N extends PagedName>(name: N, ...given: ArgumentsOf<Statements[N]>) => Promise<RowPage>;

/** Writes rows as a page. */
export function pageOfRows(rows: readonly { readonly id: number }[]): RowPage {
  const json = new TextEncoder().encode(rows.map((row) => `,${JSON.stringify(row)}`).join(''));
  return { json, count: rows.length, lastId: rows.at(-1)?.id ?? null };
}
