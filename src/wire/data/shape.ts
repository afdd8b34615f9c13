import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';

/** A schema that values are checked by. */
export interface Shape<T> {
  Check(value: unknown): value is T;
  /** Returns the faults of a value that does not have the shape. */
  Errors(value: unknown): TLocalizedValidationError[];
}

/** Returns the shape of a schema, compiled when the first value is checked: a thread that starts compiles none. */
export function shapeOf<S extends TSchema>(schema: S): Shape<Static<S>> {
  let compiled: Shape<Static<S>> | undefined;
  const shape = (): Shape<Static<S>> => {
    compiled ??= Compile(schema) as Shape<Static<S>>;
    return compiled;
  };
  return {
    Check: (value): value is Static<S> => shape().Check(value),
    Errors: (value) => shape().Errors(value)
  };
}
