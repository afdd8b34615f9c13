import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { OrNull } from '../../wire/or-null.ts';

/** Codes of refusals by every method that reads the database. */
export const DATABASE_ERRORS = ['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED'] as const;

/** The answer of a write that has nothing else to say. */
export const Success = Type.Object({ status: Type.Literal('success') });
/** @see Success */
export const success = { status: 'success' } as const;

/** A write takes no field beside those that it names. */
export const closed = { additionalProperties: false } as const;

/** `coin`, `network` and such, as the tree of the configuration spells them. */
export const NameSchema = Type.String({ pattern: '^[A-Za-z0-9_-]{1,16}$' });
/** Ed25519, 64 hex digits. */
export const PubkeySchema = Type.String({ pattern: '^[0-9A-Fa-f]{64}$' });
/** Hash of a block. */
export const HashSchema = Type.String({ pattern: '^[0-9A-Fa-f]{64}$' });
/** Epoch seconds; milliseconds are above it. */
export const SecondsSchema = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1, description: 'epoch seconds' });
/** An exact count from 0. */
export const CountSchema = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** Generation of a push: a later one can be above it. */
export const GenerationSchema = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 });
/** As MariaDB prints it, UTC. */
export const TimeSchema = Type.String();

/** Returns the schema of a value or null. */
export const Nullable = <T extends Type.TSchema>(schema: T) => OrNull(schema);

/** Returns the schema of one of a few words. */
export const OneOf = <const W extends readonly string[]>(words: W) =>
  Type.Unsafe<W[number]>({ type: 'string', enum: [...words] });

/** The chains that are attested for one another, by their tickers. */
export const ChainSchema = OneOf(['BTC', 'LTC', 'DOGE']);

/** Refuses texts that no database keeps as they are. @throws {PlatformError} REQUEST_INVALID naming the parameter */
export function checkTexts(texts: Readonly<Record<string, string | null | undefined>>): void {
  for (const [name, text] of Object.entries(texts))
    if (text && !text.isWellFormed())
      throw new PlatformError('REQUEST_INVALID', {
        reason: `${name} holds half of a surrogate pair: it is no Unicode text`
      });
}

/** Number of the newest rows in an answer. */
export const LimitSchema = Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: 'default 100' }));
/** @see LimitSchema */
export const DEFAULT_LIMIT = 100;
