import type { JsonSchema } from '../schema/openapi.ts';

/** Returns a JSON Schema the way people read a type: `{ height: integer | null }`, one property a line. */
export function schemaText(schema: JsonSchema, indent = ''): string {
  const { type, properties, items, anyOf, enum: words, const: only, patternProperties, $ref } = schema;
  if ($ref !== undefined) return String($ref).split('/').at(-1)!;
  if (Array.isArray(anyOf)) return (anyOf as JsonSchema[]).map((each) => schemaText(each, indent)).join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (type === 'array') return `[${items ? schemaText(items as JsonSchema, indent) : 'any'}, …]`;
  if (type !== 'object') return typeof type === 'string' ? type : 'any';
  const deeper = `${indent}  `;
  const required = new Set((schema['required'] ?? []) as string[]);
  const lines = [
    ...Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(
      ([name, value]) => `${name}${required.has(name) ? '' : '?'}: ${schemaText(value, deeper)}`
    ),
    ...Object.values((patternProperties ?? {}) as Record<string, JsonSchema>).map(
      (value) => `[name]: ${schemaText(value, deeper)}`
    ),
    ...(isSchema(schema['additionalProperties'])
      ? [`[name]: ${schemaText(schema['additionalProperties'], deeper)}`]
      : [])
  ];
  return `{\n${lines.map((line) => `${deeper}${line}\n`).join('')}${indent}}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null;
}
