import type { TProperties } from 'typebox';
import type { Query } from '../read/reader.ts';
import type { Columns } from './columns.ts';

/** A row as the answer has it. */
export type Row = Record<string, unknown>;

/** Meaning of the text of `{query}`. @see readSubject */
export type Subject =
  | 'address'
  | 'ticker'
  | 'side'
  | 'height'
  | 'action'
  | 'pattern'
  | 'children'
  | 'hash'
  | 'text'
  | 'spelling'
  | 'word'
  | 'everything';

/** One way to the rows of a filter: an index that has their keys in order, and the condition of the rows themselves. */
export interface Way {
  /** Tables that the keys are read from, by an index in the order of `key`. */
  readonly from: string;
  /** Names of indexes of the first of them that have the keys in order, the best first: a database may lack some. @see IndexHints */
  readonly indexes?: readonly string[];
  readonly key: string;
  /** Each key comes once: then the first page need not read the others to tell. */
  readonly isUnique?: true;
  /** Condition of the keys; each `?` is the value. */
  readonly where: string;
  /** Condition of the rows that belong to a key; each `?` is the value. */
  readonly rows: string;
}

/** One `{type}` of a list. */
export interface Filter {
  readonly takes: Subject;
  /** Rows that are on any of them are in the list; none: the rows are found by what is in memory. */
  readonly ways: readonly Way[];
  /** SQL of the number of rows, from numbers without gaps; each `?` is the value. Absent: rows are counted. @see Totals */
  readonly total?: string;
}

/** A list of the explorer, as a table: everything else follows from it. */
export interface List {
  readonly tag: string;
  readonly summary: string;
  readonly columns: Columns;
  /** The database that has it. */
  readonly database: 'indexer' | 'decoder';
  /** Joins the rows of a key `k.k`, each table by an index. */
  readonly joins: string;
  /** Orders the rows of one key among themselves; empty where a key has one row. */
  readonly within: readonly string[];
  /** Tells the first row of a key, where a key may have very many. */
  readonly first?: string;
  /** Rows of a block never change, and none is added later. */
  readonly isSettled?: true;
  /** Whether rows come between blocks of the ledger, as those of a hub or of validators do. */
  readonly changesBetweenBlocks?: true;
  /** Later blocks change fields of its rows, so that no answer is kept for long, whether or not it is settled which rows there are. */
  readonly hasLaterFields?: true;
  /** Keys are texts and not numbers. */
  readonly textKeys?: true;
  /** Column of what was moved that the filter names, for a list that can be had as it was after a past block (parameter `height`). */
  readonly past?: 'address_id' | 'tick_id';
  /** Rows of a page at most, and of one without a limit; default 100. */
  readonly most?: number;
  /** The order of a page that names none; default `desc`. */
  readonly usualOrder?: 'asc' | 'desc';
  /** Rows are in the order of this expression, then of their keys; only in a page that names no past height. @see readRanked */
  readonly rank?: Rank;
  /** Further fields of a page's rows, read by a bounded number of statements; absent: none. */
  readonly more?: {
    readonly schema: TProperties;
    readonly read: (query: Query, rows: readonly Row[]) => Promise<readonly Row[]>;
  };
  /** Fields beside the rows, for the thing that `{query}` names. */
  readonly beside?: Beside;
  /** Whether no database that an explorer reads has the list: it has no rows. */
  readonly isElsewhere?: true;
  /** Its paths behind `/{COIN}/api/`, where they are not its method's. */
  readonly paths?: readonly string[];
  /** All rows, for the list without `{query}`. */
  readonly all?: Filter;
  /** By the names of `{type}`. */
  readonly types: Readonly<Record<string, Filter>>;
  /** The `{type}` of a path without one; absent: the path needs one. */
  readonly usual?: string;
  /** Filters of the whole list by query parameters; only with `all`. */
  readonly parameters?: Readonly<Record<string, Filter>>;
}

/** Fields of a list's answer beside its rows. */
export interface Beside {
  readonly schema: TProperties;
  /**
   * @param value what `{query}` names: an id or a spelled address; null: nothing that is known
   * @param asked the text as it was asked, and whether the rows are those after a past block
   */
  readonly read: (
    query: Query,
    value: string | number | null,
    asked: { readonly text: string; readonly isPast: boolean }
  ) => Promise<Row>;
}

/** Ranking of the rows. */
interface Rank {
  /** An expression over `t`. */
  readonly by: string;
  /** A parameter that is compared with it. */
  readonly bound: string;
}
