import Type, { type Static, type TSchema } from 'typebox';

/** An object of any names, all its values of one kind. (Of a record by pattern, values under a name with a line break go unchecked.) */
export const ByName = <V extends TSchema>(value: V) =>
  Type.Unsafe<Record<string, Static<V>>>({ type: 'object', additionalProperties: value });
