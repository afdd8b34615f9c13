import Type, { type Static } from 'typebox';
import { ByName } from './by-name.ts';
import { OrNull } from './or-null.ts';

const Height = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const UnixTime = Type.Number({ minimum: 0 });

/** A subscriber's report on its replica. @see the specification, "Client to server" */
export const HeartbeatMessageSchema = Type.Object({ type: Type.Literal('heartbeat'), appliedBlock: Height });
export type HeartbeatMessage = Static<typeof HeartbeatMessageSchema>;

/** Header of the answer to an upgrade: `bound` where the server understands an `auth` that names it. */
export const AUTH_HEADER = 'x-platform-auth';

/**
 * A subscriber's signed identity: Ed25519 over the decimal text of `ts`, sent once within five seconds of connecting. With
 * `server` (host and port that the client asked for) it is over the lines `platform-sync auth`, that name and `ts`, and holds there alone.
 */
export const AuthMessageSchema = Type.Object({
  type: Type.Literal('auth'),
  pubkey: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
  sig: Type.String({ pattern: '^[0-9a-fA-F]{128}$' }),
  ts: UnixTime,
  server: Type.Optional(Type.String({ minLength: 1, maxLength: 261 }))
});
export type AuthMessage = Static<typeof AuthMessageSchema>;

/** Body of `POST /validator-heartbeat`. */
export const HeartbeatBodySchema = Type.Object({
  validator_id: Type.String({ minLength: 1, maxLength: 256 }),
  applied_height: Height,
  applied_block_time: Type.Optional(OrNull(UnixTime))
});
export type HeartbeatBody = Static<typeof HeartbeatBodySchema>;

/** One validator in `/validator-status`. */
const ValidatorEntrySchema = Type.Object({
  applied_height: Type.Number(),
  applied_block_time: OrNull(Type.Number()),
  last_seen: Type.String(),
  lag_blocks: OrNull(Type.Number())
});

/** The validators of one database, by `validator_id`. */
export const ValidatorsSchema = Type.Object({
  validators: ByName(ValidatorEntrySchema),
  last_updated: Type.String()
});
export type Validators = Static<typeof ValidatorsSchema>;
