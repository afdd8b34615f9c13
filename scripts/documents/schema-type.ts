import type { JsonSchema } from '../../src/service/schema/openapi.ts';

/**
 * Returns the TypeScript type of a schema's values. Types of other schemas are those of `components`.
 *
 * @throws {Error} for a type that no schema of a service has
 */
export function schemaType(schema: JsonSchema, indent = ''): string {
  const { $ref, anyOf, const: only, enum: words, type, items } = schema;
  if ($ref !== undefined) return `components['schemas']['${String($ref).split('/').at(-1)}']`;
  if (Array.isArray(anyOf)) return (anyOf as JsonSchema[]).map((each) => schemaType(each, indent)).join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (type === undefined) return 'unknown';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === 'array') return `Array<${schemaType((items ?? {}) as JsonSchema, indent)}>`;
  if (type === 'object') return objectType(schema, indent);
  throw new Error(`no TypeScript type for ${JSON.stringify(schema)}`);
}

function objectType(schema: JsonSchema, indent: string): string {
  const {
    properties = {},
    required = [],
    additionalProperties: others
  } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
    readonly additionalProperties?: boolean | JsonSchema;
  };
  const deeper = `${indent}  `;
  const fields = Object.entries(properties).map(([name, value]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${docComment(value['description'], deeper)}${deeper}${JSON.stringify(name)}${mark}: ${schemaType(value, deeper)};\n`;
  });
  const isOpen = others === true || (others === undefined && fields.length === 0);
  if (isOpen) fields.push(`${deeper}[name: string]: unknown;\n`);
  else if (typeof others === 'object') fields.push(`${deeper}[name: string]: ${schemaType(others, deeper)};\n`);
  return `{\n${fields.join('')}${indent}}`;
}

/** Returns a line with a documentation comment, or nothing where there is no text. */
export function docComment(text: unknown, indent: string): string {
  return typeof text === 'string' ? `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */\n` : '';
}
