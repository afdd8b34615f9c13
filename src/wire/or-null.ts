import Type from 'typebox';

/** Returns the schema of a value that may be null. */
export const OrNull = <T extends Type.TSchema>(schema: T, options?: Type.TSchemaOptions) =>
  Type.Union([schema, Type.Null()], options);
