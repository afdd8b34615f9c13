import type { DbType } from '../../wire/data/database.ts';
import TABLES from './tables-in-use.json' with { type: 'json' };

/** Column. `type` names the character set and collation where they are not the table's. */
export interface ColumnDefinition {
  readonly name: string;
  /** Type as `information_schema` prints it, then character set, collation and the word `json` where they apply. */
  readonly type: string;
  readonly nullable: boolean;
  readonly byDefault: string | null;
  /** `auto`, `generated: <expression>`, `on update <expression>`, or empty. */
  readonly extra: string;
}

/** Key of a table. */
export interface KeyDefinition {
  readonly name: string;
  readonly kind: 'primary' | 'unique' | 'index' | 'fulltext';
  /** Columns of the key. A column may have `(prefix)` and ` desc` after its name. */
  readonly columns: readonly string[];
}

/** Table of a database in use, as MariaDB 10.11 shows it. */
export interface TableDefinition {
  readonly columns: readonly ColumnDefinition[];
  readonly keys: readonly KeyDefinition[];
  readonly foreign: readonly ForeignKey[];
  readonly engine: string;
  readonly charset: string;
  readonly collate: string;
}

/** Foreign key of a table. */
export interface ForeignKey {
  readonly name: string;
  readonly columns: readonly string[];
  readonly parent: string;
  readonly parentColumns: readonly string[];
  readonly onUpdate: string;
  readonly onDelete: string;
}

type Stored = {
  readonly columns: readonly (readonly (string | null)[])[];
  readonly keys: readonly (readonly (string | readonly string[])[])[];
  readonly foreign?: readonly (readonly (string | readonly string[])[])[];
  readonly engine: string;
  readonly charset: string;
  readonly collate: string;
};

/**
 * Definitions of all tables of databases in use, by kind of database and name. A table follows the one that it refers
 * to.
 */
export const TABLES_IN_USE: Readonly<Record<DbType, ReadonlyMap<string, TableDefinition>>> = {
  indexer: readAll(TABLES.indexer as unknown as Readonly<Record<string, Stored>>),
  decoder: readAll(TABLES.decoder as unknown as Readonly<Record<string, Stored>>)
};

function readAll(stored: Readonly<Record<string, Stored>>): Map<string, TableDefinition> {
  const entries = Object.entries(stored).map(([name, table]) => [name, read(table)] as const);
  const refers = (table: TableDefinition) => Number(table.foreign.length > 0);
  return new Map(entries.sort(([, a], [, b]) => refers(a) - refers(b)));
}

function read({ columns, keys, foreign = [], engine, charset, collate }: Stored): TableDefinition {
  return {
    columns: columns.map((column) => {
      const [name, type, nullable, byDefault, extra] = column as [string, string, string, string | null, string];
      return { name, type, nullable: nullable === 'null', byDefault, extra };
    }),
    keys: keys.map((key) => {
      const [name, kind, list] = key as [string, KeyDefinition['kind'], string[]];
      return { name, kind, columns: list };
    }),
    foreign: foreign.map((key) => {
      const [name, list, parent, parentColumns, onUpdate, onDelete] = key as [
        ...[string, string[], string, string[]],
        ...[string, string]
      ];
      return { name, columns: list, parent, parentColumns, onUpdate, onDelete };
    }),
    engine,
    charset,
    collate
  };
}
