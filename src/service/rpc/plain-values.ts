/** The part of a JSON schema that decides how a value may be written. */
interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** Returns whether null is a value by a schema; compiling each of them would take a service's start a second. */
export function takesNull({ type, anyOf, const: only }: Schema): boolean {
  if (anyOf) return anyOf.some(takesNull);
  return only === undefined ? type === undefined || type === 'null' : only === null;
}

/**
 * Returns parameters with numbers where texts of numbers stand for them, texts where numbers stand for texts, and booleans likewise,
 * and without members of objects that are null where null is no value: clients in use send either. What has no such meaning stays as
 * it is, for the check to refuse.
 */
export function readPlainly(value: unknown, schema: Schema = {}): unknown {
  const { properties } = schema;
  const { items } = (schema.anyOf ?? []).find(({ type }) => type === 'array') ?? schema;
  if (Array.isArray(value)) return items ? value.map((each) => readPlainly(each, items)) : value;
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return properties ? plainMembers(value, properties) : value;
  const types = (schema.anyOf ?? [schema]).map(({ type }) => type);
  if (types.includes(typeof value)) return value;
  if (typeof value === 'string') return readText(value, types);
  return typeof value === 'number' && Number.isFinite(value) && types.includes('string') ? plainText(value) : value;
}

function plainMembers(value: object, properties: Readonly<Record<string, Schema>>): object {
  const members = Object.entries(value).map(
    ([name, each]) => [name, each, Object.hasOwn(properties, name) ? properties[name] : undefined] as const
  );
  const kept = members.filter(([, each, schema]) => each !== null || (schema && takesNull(schema)));
  return Object.fromEntries(kept.map(([name, each, schema]) => [name, schema ? readPlainly(each, schema) : each]));
}

function readText(text: string, types: readonly (string | undefined)[]): unknown {
  const isNumber = types.includes('integer') || types.includes('number');
  if (isNumber && NUMBER.test(text) && String(Number(text)) === text) return Number(text);
  return types.includes('boolean') && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** Returns a number as text, if that has no exponent: decimals are read digit by digit. */
function plainText(number: number): unknown {
  const text = String(number);
  return text.includes('e') ? number : text;
}
