const NOT_ASCII = /[^\0-\x7f]/g;
/** Characters that JSON escapes, and those outside ASCII. */
const NOT_PLAIN = /[^ !#-[\]-~]/g;

/** Returns JSON in ASCII, which columns of every character set hold. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Returns the first characters of a text for people to read. `"` becomes `'`, and any other character that JSON would
 * escape becomes `?`, so that the text has the same length in JSON.
 */
export function plainText(text: string, length: number): string {
  return text.replaceAll('"', "'").replace(NOT_PLAIN, '?').slice(0, length);
}
