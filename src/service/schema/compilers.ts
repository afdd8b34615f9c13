import { AjvCompiler, type ValidatorFactory } from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifyServerOptions } from 'fastify';

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;

/** Validation function that Ajv compiles from a schema. */
interface Validator {
  (data: unknown): unknown;
  readonly errors?: unknown;
}

const [validators, serializers] = [AjvCompiler(), SerializerSelector()];

/** Fastify's own compilers, but each schema is compiled when it is first needed: all of them take half the time of a start. */
export const lazyCompilers: Factories = {
  buildValidator: ((...given: Parameters<typeof validators>) => {
    const compiler = once(() => validators(...given));
    return (route: Parameters<ReturnType<typeof validators>>[0]) => {
      const validator = once(() => compiler()(route) as Validator);
      return (data: unknown) => validator()(data) || { error: validator().errors };
    };
  }) as unknown as ValidatorFactory,
  buildSerializer: (...given) => {
    const compiler = once(() => serializers(...given));
    return (route) => {
      const serializer = once(() => compiler()(route));
      return (data) => serializer()(data);
    };
  }
};

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
