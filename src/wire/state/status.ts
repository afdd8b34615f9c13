import Type, { type Static } from 'typebox';
import { ByName } from '../by-name.ts';
import { HASH_FIELDS } from '../data/database.ts';
import { IndexMapSchema } from '../data/index-map.ts';
import { OrNull } from '../or-null.ts';

const NumberOrNull = OrNull(Type.Number());
const HeightOrNull = OrNull(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));
const TextOrNull = OrNull(Type.String());

const IndexMap = Type.Optional(OrNull(IndexMapSchema));

/** The answer to a challenge: see `SourceClaim`. Servers of other makes have none. */
const SourceIdentitySchema = Type.Object({
  pubkey: Type.String({ maxLength: 64 }),
  origin: OrNull(Type.String({ maxLength: 64 })),
  sig: Type.String({ maxLength: 128 })
});

/** A source's status as a replica reads it; servers of other makes may have no more fields than these. */
export const SourceStatusSchema = Type.Object({
  block_height: HeightOrNull,
  ...HASH_FIELDS,
  index_map: IndexMap,
  identity: Type.Optional(Type.Unknown()),
  settled_height: Type.Optional(HeightOrNull),
  amendments: Type.Optional(HeightOrNull),
  database_silent_s: Type.Optional(Type.Number())
});

/** The identity in a source's status. */
export const IdentifiedSchema = Type.Object({ identity: SourceIdentitySchema });

/** One database in `/status`: the specification's fields, then the subscribers of a server or the state of a replica. */
const DatabaseStatusSchema = Type.Object({
  block_height: HeightOrNull,
  block_time: NumberOrNull,
  ...HASH_FIELDS,
  lag_blocks: NumberOrNull,
  poll_error_count: Type.Number(),
  database_silent_s: Type.Optional(
    Type.Number({ description: 'seconds for which its MariaDB has answered nothing; 0 while it answers' })
  ),
  source_silent_s: Type.Optional(
    Type.Number({
      description:
        "client: seconds without a word of its source, or of the source's MariaDB; its height may be old then"
    })
  ),
  phase: TextOrNull,
  waiting: OrNull(Type.String(), {
    description: 'why its actor waits or is down; a halt is in `halted`'
  }),
  subscribers: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        lastSentBlock: NumberOrNull,
        appliedBlock: NumberOrNull,
        lag: NumberOrNull,
        nearLimit: Type.Optional(
          Type.Object(
            { limit: Type.Union([Type.Literal('ceiling'), Type.Literal('stall')]), percent: Type.Number() },
            {
              description:
                'the limit of backpressure that it is nearest to, once half of it is used; at the limit it is dropped'
            }
          )
        )
      })
    )
  ),
  state_commitment: Type.Optional(
    Type.Object({
      phase: Type.String(),
      percent: NumberOrNull,
      height: NumberOrNull,
      balances: NumberOrNull,
      reason: TextOrNull
    })
  ),
  sweep: Type.Optional(
    Type.Object(
      { passes: Type.Number(), blocks: NumberOrNull },
      { description: 'passes over the rows that blocks do not bring, and the number of blocks that the last pass took' }
    )
  ),
  settled_height: Type.Optional(
    Type.Unsafe<number | null>({
      ...HeightOrNull,
      description:
        'server: the last block of which all changes were sent; client: the last block of which the replica has all changes'
    })
  ),
  amendments: Type.Optional(
    Type.Unsafe<number | null>({
      ...HeightOrNull,
      description: 'server: number of amendments sent for the last block; null: not known'
    })
  ),
  settling: Type.Optional(
    Type.Union(
      [
        Type.Object({
          height: Type.Number(),
          tables: Type.Number(),
          left: Type.Number(),
          table: TextOrNull,
          since_ms: Type.Number()
        }),
        Type.Boolean(),
        Type.Null()
      ],
      {
        description:
          'server: progress of the search for changes that the last messages lacked; null: all were sent. client: whether amendments of its block may follow'
      }
    )
  ),
  binlog: Type.Optional(
    Type.Object(
      { used: Type.Boolean(), reason: TextOrNull, missed: Type.Number() },
      {
        description:
          'whether changes are read from the binary log; if not, the reason; and the number of changes that it did not name (0 is right)'
      }
    )
  ),
  not_replicated: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      ...ByName(Type.String()),
      description: 'tables that are not replicated, each with the reason'
    })
  ),
  percent: Type.Optional(NumberOrNull),
  rows_per_second: Type.Optional(NumberOrNull),
  eta_seconds: Type.Optional(NumberOrNull),
  last_error: Type.Optional(TextOrNull),
  halted: Type.Optional(Type.Boolean()),
  reason: Type.Optional(TextOrNull),
  remedy: Type.Optional(TextOrNull),
  verification: Type.Optional(TextOrNull),
  verification_reason: Type.Optional(
    OrNull(Type.String(), {
      description: 'why the replica is not verified, and when it is compared next; null: it is verified'
    })
  ),
  comparing: Type.Optional(
    OrNull(Type.Object({ height: Type.Number(), percent: Type.Number(), since_ms: Type.Number() }), {
      description:
        'client: the block at which rows are compared with the source, and the estimated progress; null: no comparison runs'
    })
  ),
  unconfirmed: Type.Optional(Type.Array(Type.String())),
  verified_height: Type.Optional(NumberOrNull),
  verified_at: Type.Optional(TextOrNull),
  repairs: Type.Optional(Type.Number()),
  ids: Type.Optional(ByName(Type.String())),
  dispensers: Type.Optional(
    OrNull(Type.Object({ block_height: NumberOrNull, as_of: Type.String({ format: 'date-time' }) }))
  ),
  floor: Type.Optional(NumberOrNull),
  sync_mode: Type.Optional(Type.String()),
  checkpoint_height: Type.Optional(NumberOrNull),
  index_map_mismatches: Type.Optional(NumberOrNull),
  sources: Type.Optional(
    Type.Array(
      Type.Object({
        url: Type.String(),
        state: Type.String(),
        height: NumberOrNull,
        error: TextOrNull,
        dissents: Type.Number(),
        digests: TextOrNull,
        same_as: Type.Optional(
          Type.Unsafe<readonly string[]>({
            ...Type.Array(Type.String()),
            description: 'sources that are one server or read one database: VERIFY_HASHES counts them once'
          })
        )
      })
    )
  )
});
export type DatabaseStatus = Static<typeof DatabaseStatusSchema>;

/** Body of `GET /status/:dbType/:chain/:network`. */
export const SingleStatusSchema = Type.Object({
  chain: Type.String(),
  network: Type.String(),
  dbType: Type.String(),
  ...DatabaseStatusSchema.properties,
  index_map: IndexMap,
  identity: Type.Optional(
    Type.Object(SourceIdentitySchema.properties, {
      description: 'signed answer to `challenge`: identity of the server and of its database'
    })
  ),
  last_updated: Type.String()
});

/** Body of `GET /status`: all databases nested chain, network, dbType. */
export const StatusTreeSchema = Type.Object(
  { last_updated: Type.String() },
  { additionalProperties: ByName(ByName(DatabaseStatusSchema)) }
);
