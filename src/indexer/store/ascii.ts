const NOT_ASCII = /[^\0-\x7f]/g;
/** What JSON would escape, too. */
const NOT_PLAIN = /[^ !#-[\]-~]/g;

/** JSON in ASCII, which columns of every character set hold. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The first characters of a text that people read, with `'` for quotes and `?` for what is not plain ASCII; as long in JSON. */
export function plainText(text: string, length: number): string {
  return text.replaceAll('"', "'").replace(NOT_PLAIN, '?').slice(0, length);
}
