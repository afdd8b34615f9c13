import { PlatformError } from '../errors.ts';

/**
 * Returns the only text of a JSON value that is signed: names sorted by UTF-16 units, no spaces, numbers as ECMAScript
 * prints them.
 *
 * @throws {PlatformError} SOURCE_INVALID for a value without such a form: a number that is not finite, half of a
 *   surrogate pair
 * @see RFC 8785, JSON Canonicalization Scheme
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, inner]) => `${canonicalJson(name)}:${canonicalJson(inner)}`).join(',')}}`;
  }
  const hasForm =
    value === null ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.isWellFormed());
  if (!hasForm) throw new PlatformError('SOURCE_INVALID', { reason: `${String(value)} has no canonical JSON form` });
  return JSON.stringify(value);
}
