import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import { OrNull } from '../or-null.ts';
import { type BlockHashes, DatabaseIdSchema, HASH_FIELDS, hashesOf } from './database.ts';
import { IDENTIFIER_PATTERN } from './schema.ts';

/** A client ends a connection on which a longer message comes, and a server sends none. */
export const MAX_MESSAGE_BYTES = 256 * 2 ** 20;

const Height = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = OrNull(Type.String({ maxLength: 250 }));

/** One row as it travels: column name to value; binary as `{"__xbin__": base64}`. */
export type WireRow = Record<string, unknown>;
/** Table name to rows; tables without rows are left out. */
export type WireRows = Record<string, WireRow[]>;
const Rows = ByName(Type.Array(ByName(Type.Unknown())));

/**
 * A source that cannot tell what changed of some older rows, before or while it learned them as its base: a replica that stands at
 * `height` or below it, and was not compared with the source since, compares itself. `id` names the learning.
 */
export const LearnedSchema = Type.Object({ height: Height, id: Type.String({ minLength: 1, maxLength: 64 }) });
export type Learned = Static<typeof LearnedSchema>;

/** A start of a source, and the last block that its predecessors had sent by then; -1: none. */
const LifeSchema = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64 }),
  from: Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER })
});
export type Life = Static<typeof LifeSchema>;
/** The last starts of a source, each of which continued the one before, the present one last. */
export const LivesSchema = Type.Array(LifeSchema, { maxItems: 64 });

/** Sent on connection, every 60 seconds, when `learned` or the last of `lives` is another, and when the database falls silent or answers again. */
export const StatusMessageSchema = Type.Object({
  type: Type.Literal('status'),
  ...DatabaseIdSchema.properties,
  block_height: OrNull(Height),
  block_time: OrNull(Type.Number()),
  ...HASH_FIELDS,
  /** Absent: the source knows what it sent. */
  learned: Type.Optional(LearnedSchema),
  /**
   * A block that none of them sent, or that one of them sent above the place where the next began, may have been read at another moment
   * than this source read it. Absent: the source does not say.
   */
  lives: Type.Optional(LivesSchema),
  /** Everything follows that was sent after the block that the subscriber named. */
  resumed: Type.Optional(Type.Literal(true)),
  /** Seconds for which the source's MariaDB has answered nothing; absent: it answers. */
  database_silent_s: Type.Optional(Type.Number({ minimum: 0 }))
});
export type StatusMessage = Static<typeof StatusMessageSchema>;

/** First and last height of the blocks that were read in one snapshot; the mutable rows are in the last one's message. */
const GroupSchema = Type.Object({ first: Height, last: Height });
export type Group = Static<typeof GroupSchema>;

/** From and to, inclusive; the largest safe integers stand for no bound. Null: the rows in which the column is NULL. */
const Span = OrNull(Type.Tuple([Type.Integer(), Type.Integer()]));

/** Parts of one table that are sent whole. */
export const TableRangesMessageSchema = Type.Object({
  /** An integer column; null: slots 0 to 4095, the first 12 bits of a row's hash. */
  column: OrNull(Type.String({ pattern: IDENTIFIER_PATTERN })),
  spans: Type.Array(Span),
  /** Every row that lies in one of the spans and in no block of the group; others there are gone. */
  rows: Type.Array(ByName(Type.Unknown()))
});
export type TableSpans = Static<typeof TableRangesMessageSchema>;

/**
 * One block.
 *
 * `data` holds the rows of the block and new lookup rows. The rest says what changed elsewhere, in the last message of a group:
 * `updated_rows` (upserts of mutable and derived rows), `deleted_rows` (identity columns of vanished mutable rows), and `ranges`:
 * parts of tables whole, for what changed in older blocks, in rows without a block, and in tables whose rows have none.
 */
export const BlockMessageSchema = Type.Object({
  type: Type.Literal('block'),
  ...DatabaseIdSchema.properties,
  schema_version: Type.Integer(),
  block_index: Height,
  block_time: OrNull(Type.Number()),
  ...HASH_FIELDS,
  group: Type.Optional(GroupSchema),
  previous_hash: Type.Optional(Type.Union([Type.Object(HASH_FIELDS), Type.String(), Type.Null()])),
  state_hash: Type.Optional(Hash),
  balances_root: Type.Optional(Hash),
  block_merkle_root: Type.Optional(Hash),
  state_root: Type.Optional(Hash),
  data: Rows,
  updated_rows: Type.Optional(Rows),
  deleted_rows: Type.Optional(Rows),
  ranges: Type.Optional(ByName(TableRangesMessageSchema)),
  /**
   * The message does not bring all that changed in older rows: `rest` follows with the next block, `unknown` is found by comparing.
   * Absent: it does.
   */
  unsettled: Type.Optional(Type.Union([Type.Literal('rest'), Type.Literal('unknown')])),
  /** Amendments of older rows may follow, up to a `settled` message. Absent: this message brings all changes. */
  settling: Type.Optional(Type.Literal(true)),
  /** Amendments of the block before; null or absent: not known. */
  amended_before: Type.Optional(OrNull(Height)),
  /** Schema fingerprint at this block; when it changes, a client fetches `/schema` before it applies. */
  schema_fingerprint: Type.Optional(Type.String({ maxLength: 64 })),
  sync_mode: Type.Optional(Type.String())
});
export type BlockMessage = Static<typeof BlockMessageSchema>;

/** Returns the block before a message's, as its source names it; null where it does not. */
export function previousHashes({ dbType, previous_hash }: BlockMessage): BlockHashes | null {
  if (previous_hash == null) return null;
  return hashesOf(dbType, typeof previous_hash === 'string' ? { block_hash: previous_hash } : previous_hash);
}

/** Counts the rows that a block brings. */
export function countRows({
  data,
  updated_rows = {}
}: {
  readonly data: WireRows;
  readonly updated_rows?: WireRows | undefined;
}): number {
  return [data, updated_rows].flatMap((rows) => Object.values(rows)).reduce((sum, { length }) => sum + length, 0);
}

/** `block_index` is the first orphaned height; the new branch follows as block messages. */
export const ReorgMessageSchema = Type.Object({
  type: Type.Literal('reorg'),
  ...DatabaseIdSchema.properties,
  block_index: Height
});
export type ReorgMessage = Static<typeof ReorgMessageSchema>;

/**
 * Rows that changed up to a block that was broadcast and that its message did not bring, for subscribers that ask for amendments. It
 * may come twice. `data` has none: new rows come with their blocks.
 */
export const AmendmentMessageSchema = Type.Object({
  type: Type.Literal('amendment'),
  ...DatabaseIdSchema.properties,
  block_index: Height,
  ...HASH_FIELDS,
  /** Counts from 1 for each block. */
  number: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  schema_fingerprint: Type.String({ maxLength: 64 }),
  updated_rows: Type.Optional(Rows),
  deleted_rows: Type.Optional(Rows),
  ranges: Type.Optional(ByName(TableRangesMessageSchema))
});
export type AmendmentMessage = Static<typeof AmendmentMessageSchema>;

/** Everything that changed up to a block was sent, with its message, later ones and their amendments. */
export const SettledMessageSchema = Type.Object({
  type: Type.Literal('settled'),
  ...DatabaseIdSchema.properties,
  block_index: Height,
  ...HASH_FIELDS,
  /** Amendments of that block; null: not known. */
  amendments: OrNull(Height),
  /** The source does not know what it sent of some older rows: only a comparison shows whether a replica has them. */
  unknown: Type.Optional(Type.Literal(true))
});
export type SettledMessage = Static<typeof SettledMessageSchema>;

/** Head of a block message, before its rows: it names the block. */
const BlockHeadSchema = Type.Object({
  type: Type.Literal('block'),
  ...DatabaseIdSchema.properties,
  block_index: Height,
  ...HASH_FIELDS
});
/** A message without its rows, for listeners that only compare a source's hashes. */
export const AnnouncementSchema = Type.Union([StatusMessageSchema, BlockHeadSchema, ReorgMessageSchema]);
export type Announcement = Static<typeof AnnouncementSchema>;

export const ServerMessageSchema = Type.Union([
  StatusMessageSchema,
  BlockMessageSchema,
  ReorgMessageSchema,
  AmendmentMessageSchema,
  SettledMessageSchema
]);
export type ServerMessage = Static<typeof ServerMessageSchema>;

/** The ten tables of an `infra-only` subscription. */
export const INFRA_TABLES: ReadonlySet<string> = new Set([
  'stakes',
  'delegations',
  'validator_rewards',
  'prices',
  'reward_claims',
  'index_pubkeys',
  'index_addresses',
  'index_actions',
  'index_statuses',
  'index_fiats'
]);
