import Type, { type Static } from 'typebox';
import { HASH_FIELDS } from '../data/database.ts';
import { OrNull } from '../or-null.ts';

const Height = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = OrNull(Type.String());
const Time = Type.String({ format: 'date-time' });

/** Most entries of a page. */
export const MAX_PAGE_LIMIT = 1_000;

/** A page of the transparency log as a replica reads it; servers of other makes may leave out hashes that they lack. */
export const LoggedBlocksSchema = Type.Object({
  results: Type.Array(Type.Object({ block_index: Height, ...HASH_FIELDS }), { maxItems: MAX_PAGE_LIMIT })
});
export type LoggedBlock = Static<typeof LoggedBlocksSchema>['results'][number];

/** One page of the transparency log, newest first. @see the specification, "Transparency log entry" */
export const TransparencyPageSchema = Type.Object({
  page: Type.Integer({ minimum: 0 }),
  limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE_LIMIT }),
  /** Recorded blocks, on all pages. */
  total: Type.Integer({ minimum: 0 }),
  results: Type.Array(
    Type.Object({
      block_index: Height,
      block_time: OrNull(Type.Integer()),
      ledger_hash: Hash,
      actions_hash: Hash,
      contract_hash: Hash,
      logged_at: Time
    })
  )
});
export type TransparencyPage = Static<typeof TransparencyPageSchema>;

/** @see the specification, "Merkle inclusion proof" */
export const InclusionProofSchema = Type.Object({
  blockIndex: Height,
  epoch: Height,
  leaf: Type.String(),
  merkleRoot: Type.String(),
  /** From the leaf to the root. */
  proof: Type.Array(
    Type.Object({ hash: Type.String(), position: Type.Union([Type.Literal('left'), Type.Literal('right')]) })
  ),
  verified: Type.Boolean()
});
export type InclusionProofRecord = Static<typeof InclusionProofSchema>;

/** For a block of an unfinished epoch. */
export const OpenEpochSchema = Type.Object({ error: Type.Literal('epoch not yet committed') });
export type OpenEpoch = Static<typeof OpenEpochSchema>;

/** @see the specification, "Epoch root" */
export const EpochRootSchema = Type.Object({
  id: Type.Integer(),
  epoch: Height,
  start_block: Height,
  end_block: Height,
  merkle_root: Type.String(),
  leaf_count: Type.Integer({ minimum: 1 }),
  created_at: Time
});
export type EpochRoot = Static<typeof EpochRootSchema>;

/** One page of the committed epochs, newest first. */
export const EpochPageSchema = Type.Object({
  page: Type.Integer({ minimum: 0 }),
  limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE_LIMIT }),
  total: Type.Integer({ minimum: 0 }),
  results: Type.Array(EpochRootSchema)
});
export type EpochPage = Static<typeof EpochPageSchema>;

/** Before the first epoch is committed. */
export const NoEpochSchema = Type.Object({ epoch: Type.Null(), merkle_root: Type.Null() });
export type NoEpoch = Static<typeof NoEpochSchema>;
