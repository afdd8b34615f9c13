import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/** A schema that values are checked by. */
export interface Shape<T> {
  Check(value: unknown): value is T;
}

/** The shape of a schema, compiled when the first value is checked: a thread that starts compiles none. */
export function shapeOf<S extends TSchema>(schema: S): Shape<Static<S>> {
  let compiled: Shape<Static<S>> | undefined;
  return {
    Check(value): value is Static<S> {
      compiled ??= Compile(schema) as Shape<Static<S>>;
      return compiled.Check(value);
    }
  };
}
