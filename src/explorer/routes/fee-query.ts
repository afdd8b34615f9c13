import Type from 'typebox';
import { oneOf, wholeNumber } from '../../service/schema/parameters.ts';

/** Most characters of an action in a query string. */
const MOST_LETTERS = 8_192;

/** Returns the schema of a query string that has the parameters of a method: all of them are texts. */
export function queryOf({ properties, required }: Type.TObject): Type.TObject {
  const needed = new Set<string>(required);
  const texts = Object.entries(properties).map(([name, schema]) => {
    const text = textOf(schema);
    return [name, needed.has(name) ? text : Type.Optional(text)];
  });
  return Type.Object(Object.fromEntries(texts));
}

/** Returns the parameters that a query string names, each of the type that the method takes. */
export function valuesOf({ properties }: Type.TObject, query: Readonly<Record<string, string>>): object {
  const values = Object.entries(query).map(([name, text]) => {
    const type = typeOf(properties[name]);
    return [name, type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text];
  });
  return Object.fromEntries(values);
}

const typeOf = (schema: Type.TSchema | undefined): unknown => (schema as { type?: unknown } | undefined)?.type;

function textOf(schema: Type.TSchema): Type.TSchema {
  const { description: note } = schema as { description?: string };
  const type = typeOf(schema);
  if (type === 'string') return schema;
  if (type === 'integer') return wholeNumber({ min: 0, ...(note === undefined ? {} : { note }) });
  if (type === 'boolean') return oneOf(['true', 'false'], note === undefined ? '' : `; ${note}`);
  return Type.String({ maxLength: MOST_LETTERS, ...(note === undefined ? {} : { description: note }) });
}
