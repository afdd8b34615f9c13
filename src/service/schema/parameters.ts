import type { FastifyRequest } from 'fastify';
import type { FastifySchemaValidationError } from 'fastify/types/schema.js';
import Type, { type TProperties } from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type DatabaseId, DatabaseIdSchema } from '../../wire/data/database.ts';

/** Returns the schema of `/:dbType/:chain/:network` in a path, with further parameters. The root hook has refused unknown ones before. */
export const databaseParams = <P extends TProperties>(more: P = {} as P) =>
  Type.Object({ ...DatabaseIdSchema.properties, ...more });

/** Returns the database that the path names. */
export function databaseOf(request: FastifyRequest): DatabaseId {
  const { dbType, chain, network } = request.params as DatabaseId;
  return { dbType, chain, network };
}

interface WholeNumber {
  readonly min: 0 | 1;
  /** Digits at most; 15 are exact as a number. */
  readonly digits?: number;
  readonly default?: number;
  readonly note?: string;
}

/** Reads a whole number as the text that a path or query holds; nothing is coerced. */
export function wholeNumber({ min, digits = 15, default: value, note }: WholeNumber) {
  const texts = [
    `a whole number of at least ${min}`,
    ...(value === undefined ? [] : [`default ${value}`]),
    ...(note === undefined ? [] : [note])
  ];
  return Type.String({
    pattern: min === 0 ? `^\\d{1,${digits}}$` : `^0*[1-9]\\d{0,${digits - 1}}$`,
    description: texts.join('; ')
  });
}

/** Returns one of a few words. */
export const oneOf = <const W extends readonly string[]>(words: W, note = '') =>
  Type.Unsafe<W[number]>({ type: 'string', enum: [...words], description: `${words.join(' or ')}${note}` });

/** Selection of tables: all, or the ten of the infrastructure. */
export const SYNC_MODES = ['full', 'infra-only'] as const;
export const SYNC_MODE_NOTE = '; infra-only: the ten tables of the infrastructure, of an indexer';

/** Throws a validator's finding as a sentence: a schema's description says what its value must be. */
export function refuseInvalid(faults: readonly FastifySchemaValidationError[], part: string): PlatformError {
  const fault = faults.at(-1) as FastifySchemaValidationError & { readonly parentSchema?: { description?: string } };
  const name = fault.instancePath.slice(1).replaceAll('/', '.');
  const rule = fault.parentSchema?.description;
  const reason = name !== '' && rule !== undefined ? `${name} must be ${rule}` : `${name || part} ${fault.message}`;
  return new PlatformError('REQUEST_INVALID', { reason });
}
