import Type, { type Static } from 'typebox';
import { DbTypeSchema } from '../data/database.ts';
import { OrNull } from '../or-null.ts';

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** One database in `GET /catalog`. @see the specification, "Catalog entry" */
const CatalogEntrySchema = Type.Object({
  coin: Type.String(),
  network: Type.String(),
  dbType: DbTypeSchema,
  /** Null while the database's address is unknown. */
  db_name: OrNull(Type.String()),
  block_height: OrNull(Count),
  table_count: Count,
  data_bytes: Count,
  index_bytes: Count,
  total_bytes: Count,
  /** This system's own field: the rough size of a bootstrap. */
  row_estimate: Count
});
export type CatalogEntry = Static<typeof CatalogEntrySchema>;

export const CatalogSchema = Type.Object({
  generated_at: Type.String({ format: 'date-time' }),
  databases: Type.Array(CatalogEntrySchema)
});
/** Body of `GET /catalog`. */
export type Catalog = Static<typeof CatalogSchema>;

const { coin, network, total_bytes, row_estimate } = CatalogEntrySchema.properties;
/** A source's catalog as a replica reads it; it may list databases of other kinds, with fewer fields. */
export const SourceSizesSchema = Type.Object({
  databases: Type.Array(
    Type.Object({
      coin,
      network,
      dbType: Type.String(),
      total_bytes: Type.Optional(total_bytes),
      row_estimate: Type.Optional(row_estimate)
    }),
    { maxItems: 10_000 }
  )
});
