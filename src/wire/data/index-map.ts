import Type, { type Static } from 'typebox';

/** The digest of a database's index of addresses, in `/status` of one database. Advisory. */
export const IndexMapSchema = Type.Object({
  max_id: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' })
});
export type IndexMapDigest = Static<typeof IndexMapSchema>;
