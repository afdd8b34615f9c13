import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import { OrNull } from '../or-null.ts';
import { shapeOf } from './shape.ts';

/** Table and column names that a replica makes; anything else it refuses by name, unless its operator keeps the table local. */
export const IDENTIFIER_PATTERN = '^[A-Za-z0-9_]{1,64}$';
const Identifier = Type.String({ minLength: 1, maxLength: 64 });
/** Characters of a generated column's expression. */
export const MAX_EXPRESSION = 1024;
const TextOrNull = (maxLength: number) => OrNull(Type.String({ maxLength }));

const TypedColumnSchema = Type.Object({
  name: Identifier,
  /** information_schema's COLUMN_TYPE, e.g. `int(10) unsigned`. */
  type: Type.String({ maxLength: 65_535 }),
  nullable: Type.Boolean(),
  /** The default as an SQL expression text (`'a'`, `0`, `current_timestamp(3)`, `NULL`), or null when there is none. */
  default: TextOrNull(65_535),
  charset: TextOrNull(64),
  collation: TextOrNull(64),
  autoIncrement: Type.Boolean(),
  /** `current_timestamp(3)` of an ON UPDATE clause. */
  onUpdate: TextOrNull(64),
  generated: OrNull(Type.Object({ expression: Type.String({ maxLength: MAX_EXPRESSION }), stored: Type.Boolean() })),
  /** MariaDB's JSON: text with `json_valid`. */
  json: Type.Boolean(),
  /** `SELECT *` leaves it out; it travels like any other. */
  invisible: Type.Optional(Type.Literal(true))
});
export type TypedColumn = Static<typeof TypedColumnSchema>;

const TypedKeySchema = Type.Object({
  /** `PRIMARY` for the primary key. */
  name: Type.String({ maxLength: 64 }),
  unique: Type.Boolean(),
  /** BTREE, HASH, FULLTEXT or SPATIAL. */
  kind: Type.String({ maxLength: 16 }),
  columns: Type.Array(
    Type.Object({
      name: Identifier,
      prefix: OrNull(Type.Integer({ minimum: 1 })),
      descending: Type.Boolean()
    }),
    { minItems: 1, maxItems: 64 }
  )
});
export type TypedKey = Static<typeof TypedKeySchema>;

const TypedForeignKeySchema = Type.Object({
  name: Type.String({ maxLength: 64 }),
  columns: Type.Array(Identifier, { minItems: 1, maxItems: 64 }),
  referencedTable: Identifier,
  referencedColumns: Type.Array(Identifier, { minItems: 1, maxItems: 64 }),
  onDelete: Type.String({ maxLength: 16 }),
  onUpdate: Type.String({ maxLength: 16 })
});
export type TypedForeignKey = Static<typeof TypedForeignKeySchema>;

/** Replication class of a table, found from its schema, never from a hand-kept list. @see docs/exactness.md */
export const TABLE_CLASSES = ['scoped', 'lookup', 'mutable', 'derived', 'snapshotOnly', 'control', 'local'] as const;
export type TableClass = (typeof TABLE_CLASSES)[number];

const TypedTableSchema = Type.Object({
  name: Identifier,
  engine: Type.String({ maxLength: 64 }),
  columns: Type.Array(TypedColumnSchema, { minItems: 1, maxItems: 4096 }),
  keys: Type.Array(TypedKeySchema, { maxItems: 128 }),
  foreignKeys: Type.Array(TypedForeignKeySchema, { maxItems: 128 }),
  /** The source's classification; a client computes its own and only compares. */
  class: Type.Optional(Type.Unsafe<TableClass>(Type.Union(TABLE_CLASSES.map((name) => Type.Literal(name)))))
});

/** One table as information_schema describes it. */
export type TypedTable = Static<typeof TypedTableSchema>;

const typedTable = shapeOf(TypedTableSchema);

/** Returns whether a description is within the bounds of its schema, however it was come by. */
export function isTypedTable(table: TypedTable): boolean {
  return typedTable.Check(table);
}

/** Body of `GET /schema`: CREATE TABLE texts as the specification says, and the typed form beside them. */
export const SchemaRecordSchema = Type.Object({
  chain: Type.String(),
  network: Type.String(),
  dbType: Type.String(),
  tables: ByName(Type.String()),
  typed: Type.Optional(Type.Array(TypedTableSchema, { maxItems: 4096 })),
  /** Hash over `typed`; changes when a table, column or key does. */
  fingerprint: Type.Optional(Type.String({ maxLength: 64 })),
  /** Tables that the source leaves out because no replica can make them, with the reason. */
  not_replicated: Type.Optional(ByName(Type.String({ maxLength: 1024 })))
});
export type SchemaRecord = Static<typeof SchemaRecordSchema>;
