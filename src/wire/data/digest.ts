import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import { OrNull } from '../or-null.ts';
import { TABLE_CLASSES, type TableClass } from './schema.ts';

/** Ranges that one answer may list. */
export const MAX_RANGES = 4096;
/** Limits on the rows of one range; a range of one row is never too large. */
export const MAX_RANGE_ROWS = 20_000;
export const MAX_RANGE_BYTES = 16 * 2 ** 20;

/** The algorithm of the digests. Sides with different algorithms compare nothing. */
export const DIGEST_ALGORITHM = 'sha256-sum64/2';

const Position = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Sum = Type.String({ pattern: '^\\d{1,40}$' });
const Name = Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' });
const Hash = Type.Optional(OrNull(Type.String({ maxLength: 250 })));
const Class = Type.Unsafe<TableClass>(Type.Union(TABLE_CLASSES.map((name) => Type.Literal(name))));

/** Keys of digests: 32 hex digits. */
export const DIGEST_KEY_PATTERN = '^[0-9a-f]{32}$';
const Key = Type.String({ pattern: DIGEST_KEY_PATTERN });

/** The snapshot that an answer was read in, and the key under which its digests are made. */
const Head = {
  block_height: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  ledger_hash: Hash,
  actions_hash: Hash,
  contract_hash: Hash,
  block_hash: Hash,
  fingerprint: Type.String({ maxLength: 64 }),
  algorithm: Type.Literal(DIGEST_ALGORITHM),
  key: Key
};

const RangeDigestSchema = Type.Object({ from: Position, to: Position, rows: Count, digest: Sum });
const TableDigestSchema = Type.Object({ table: Name, class: Class, rows: Count, digest: Sum });
export const DigestKeySchema = Type.Object(Head);
export const DatabaseDigestSchema = Type.Object({ ...Head, tables: Type.Array(TableDigestSchema, { maxItems: 4096 }) });
export const TableRangesSchema = Type.Object({
  ...Head,
  table: Name,
  /** For a whole table, if asked. False: the table no longer equals what was broadcast of this block; the next block carries the change. */
  settled: Type.Optional(Type.Boolean()),
  /** Rows and digest of all ranges together; ranges without rows are left out. */
  rows: Count,
  digest: Sum,
  ranges: Type.Array(RangeDigestSchema, { maxItems: MAX_RANGES })
});
export const RangeRowsSchema = Type.Object({
  ...Head,
  table: Name,
  rows: Count,
  digest: Sum,
  data: Type.Array(ByName(Type.Unknown()), { maxItems: MAX_RANGE_ROWS })
});

/** Rows between two positions: their number, and the order-independent sum of their hashes. */
export type RangeDigest = Static<typeof RangeDigestSchema>;
export type TableDigest = Static<typeof TableDigestSchema>;
/** `GET /digest/:dbType/:chain/:network/key`: the key of digests that are still being computed. */
export type DigestKey = Static<typeof DigestKeySchema>;
/** `GET /digest/:dbType/:chain/:network` without a table. */
export type DatabaseDigest = Static<typeof DatabaseDigestSchema>;
/** The same with `table` and `key`, and perhaps a range. */
export type TableRanges = Static<typeof TableRangesSchema>;
/** The same with a range and `rows=1`. */
export type RangeRows = Static<typeof RangeRowsSchema>;

const Place = Type.String({ pattern: '^(-1|\\d{1,15})$' });
/** Parameters for a part of the tables: one, or all but some. */
export const DigestPartSchema = Type.Object({
  only: Type.Optional(Name),
  without: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_]{1,64}(,[A-Za-z0-9_]{1,64}){0,199}$' }))
});

/** The tables that a pass reads: one, or all but some; null: all. */
export type DigestPart = { readonly only: string } | { readonly without: readonly string[] } | null;

/** Returns whether a table is one of a part. */
export function isInPart(part: DigestPart, table: string): boolean {
  if (part === null) return true;
  return 'only' in part ? table === part.only : !part.without.includes(table);
}

/** Reads a part as the route does. */
export function partOf({ only, without }: Static<typeof DigestPartSchema>): DigestPart {
  if (only !== undefined) return { only };
  return without === undefined ? null : { without: without.split(',') };
}

/** Returns the parameters of a part. */
export function partParameters(part: DigestPart): string {
  if (part === null) return '';
  return 'only' in part ? `?only=${part.only}` : `?without=${part.without.join(',')}`;
}

export const DigestParametersSchema = Type.Object({
  table: Type.Optional(Name),
  from: Type.Optional(Place),
  to: Type.Optional(Place),
  block: Type.Optional(Place),
  rows: Type.Optional(Type.Literal('1')),
  settled: Type.Optional(Type.Literal('1')),
  ids: Type.Optional(Type.Literal('0')),
  key: Type.Optional(Key)
});

/**
 * A range of one table's rows. A position is the row's block in a scoped table (-1: it has none, the one above the tip: it lies
 * ahead), else the first 32 bits of the keyed hash of its identity; with `block`, of the rows at that one position of a scoped table, it
 * is the latter again.
 */
export interface DigestRange {
  readonly from: number;
  readonly to: number;
  readonly block: number | null;
}

/**
 * Question about a digest: all tables, one table's ranges (of a range of it), or the rows of a range. A question about a table
 * names the key.
 */
export interface DigestQuery {
  readonly table: string | null;
  readonly range: DigestRange | null;
  readonly rows: boolean;
  /** With a whole table: asks whether it still equals what was broadcast of the tip. This costs one more pass over its newest blocks. */
  readonly settled?: boolean;
  /** False: without the AUTO_INCREMENT ids, for a table in which the asker has others. */
  readonly ids?: boolean;
  /** The key of the digests that the answer belongs to; needed with a table, and without one those of the tip are given. */
  readonly key?: string;
}

/** Returns whether the pass over all tables already has the answer, so that nothing is read for it. */
export function isOfPass({ range, settled, ids = true }: DigestQuery): boolean {
  return range === null && !settled && ids;
}

/** Returns the parameters of a query, as the route reads them. */
export function digestParameters({ table, range, rows, settled, ids = true, key }: DigestQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  if (table !== null) parameters.set('table', table);
  if (range) {
    parameters.set('from', String(range.from));
    parameters.set('to', String(range.to));
    if (range.block !== null) parameters.set('block', String(range.block));
  }
  if (rows) parameters.set('rows', '1');
  if (settled) parameters.set('settled', '1');
  if (!ids) parameters.set('ids', '0');
  if (key !== undefined) parameters.set('key', key);
  return parameters;
}
