import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import { OrNull } from '../or-null.ts';

const Version = Type.Integer({ description: 'as in snapshots: indexer 7, decoder 3' });
/** Beyond 2^53 a decimal text. */
const Id = Type.Union([Type.Integer(), Type.String()]);
const Rows = Type.Array(ByName(Type.Unknown()));

/** Body of `GET /snapshot-rows`: one page of a lookup table, by id. */
export const LookupPageSchema = Type.Object({
  schema_version: Version,
  table: Type.String(),
  /** The highest id of this page, to be asked for as `after_id`; null when there is no row. */
  max_id: OrNull(Id),
  has_more: Type.Boolean(),
  rows: Rows
});
export type LookupPage = Static<typeof LookupPageSchema>;

/** Body of `GET /snapshot-dispensers`: the whole table, read in one statement. */
export const DispensersSchema = Type.Object({
  schema_version: Version,
  /** The highest transaction and address that the rows name; null when there are none. */
  max_tx: OrNull(Id),
  max_addr: OrNull(Id),
  has_more: Type.Boolean(),
  rows: Rows
});
export type Dispensers = Static<typeof DispensersSchema>;

/** Response headers of a page. */
export const PAGE_HEADERS = { maxId: 'x-max-id', hasMore: 'x-has-more' } as const;
