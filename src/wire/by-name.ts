import Type, { type Static, type TSchema } from 'typebox';

/**
 * Returns the schema of an object of any names, all its values of one kind. (Of a record by pattern, values under a
 * name with a line break go unchecked.)
 */
export const ByName = <V extends TSchema>(value: V) =>
  Type.Unsafe<Record<string, Static<V>>>({ type: 'object', additionalProperties: value });
