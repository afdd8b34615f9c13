import type { TObject } from 'typebox';
import type { ChainNetwork } from '../../coin/chains.ts';
import { PlatformError } from '../../errors.ts';
import { type Columns, readRow, selectList } from '../lists/columns.ts';
import type { Question } from '../question.ts';
import type { Cursors } from '../read/cursor.ts';
import type { IndexHints } from '../read/index-hints.ts';
import type { Query } from '../read/reader.ts';
import type { ReadNames } from '../read/subject.ts';
import type { Tip } from '../read/tip.ts';
import type { TokenNames } from '../read/token-names.ts';
import type { Totals } from '../read/totals.ts';

/** A network, and what runs a read on one of its databases. */
export interface Databases {
  readonly network: ChainNetwork;
  readonly indexer: <T>(work: (query: Query, tip: Tip | null) => Promise<T>) => Promise<T>;
  readonly decoder: <T>(work: (query: Query) => Promise<T>) => Promise<T>;
  /** Lengths of the lists of the ledger. */
  readonly totals: Totals;
  /** Indexes by which they are read. */
  readonly hints: IndexHints;
  readonly cursors: Cursors;
  readonly names: TokenNames;
}

/** Input for reading a record. */
export interface RecordRead {
  readonly query: Query;
  /** The newest block of the snapshot. */
  readonly tip: Tip | null;
  readonly names: ReadNames;
  readonly question: Question;
  readonly databases: Databases;
}

/** One thing that a method tells about, and how it is read. */
export interface RecordMethod {
  readonly summary: string;
  readonly tag: string;
  /** Meaning of `{query}`; absent: the method takes none. */
  readonly takes?: string;
  /** Values of `{type}`; a path may leave it out. */
  readonly types?: readonly string[];
  readonly schema: TObject;
  /** Its paths behind `/{COIN}/api/`, where they are not its method's; other parameters than `query` and `type` are `parameters`. */
  readonly paths?: readonly string[];
  /** Whether it takes the paging of a list, and with which limits. */
  readonly isPaged?: { readonly most?: number; readonly usualRows?: number };
  /** Query parameters that it takes besides. */
  readonly parameters?: readonly string[];
  /** Part of the answer is the decoder's, or prices that a hub feeds, and changes between blocks of the ledger. */
  readonly changesBetweenBlocks?: true;
  /** The answer tells its `block_index`, and stays as it is once no reorg can reach that block. */
  readonly isSettled?: true;
  /** @throws {PlatformError} RECORD_UNKNOWN, or by what was asked */
  readonly read: (asked: RecordRead) => Promise<Readonly<Record<string, unknown>>>;
}

/** Rows of each part of a record. */
export const MAX_ROWS = 100;

/** Says that the ledger does not have it. @throws {PlatformError} RECORD_UNKNOWN */
export const unknown = (what: string, name: string): never => {
  throw new PlatformError('RECORD_UNKNOWN', { reason: `there is no ${what} "${name.slice(0, 80)}"` });
};

/** Returns the value of a JSON text; null where it is none. */
export function valueIn(json: unknown): unknown {
  try {
    return JSON.parse(String(json));
  } catch {
    return null;
  }
}

/** Returns the list in a JSON text; empty where there is none. */
export function listIn(json: unknown): readonly unknown[] {
  const found = valueIn(json);
  return Array.isArray(found) ? found : [];
}

/** Reads the rows of a statement as its columns have them. */
export async function readRows(
  query: Query,
  columns: Columns,
  from: string,
  values: readonly (string | number | null)[]
) {
  const found = await query<Record<string, unknown>>(`SELECT ${selectList(columns)} FROM ${from}`, values);
  return found.map((row) => readRow(columns, row));
}
