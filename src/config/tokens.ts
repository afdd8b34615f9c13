/** Printable ASCII, which headers carry unchanged. */
const TOKEN = /^[\x21-\x7e]+$/;

function readToken(entry: string): string {
  if (!TOKEN.test(entry)) throw new Error('must be printable ASCII without spaces');
  return entry;
}

const entriesOf = (text: string) => text.split(',').map((entry) => entry.trim());

/**
 * Reads the tokens that a service accepts: one, or several separated by commas while one replaces another. The service
 * sends the first one to others.
 *
 * @throws {Error} whose message is the reason
 */
export function readTokens(text: string): readonly string[] {
  const entries = entriesOf(text).filter((entry) => entry !== '');
  if (entries.length === 0) throw new Error('must be a token, or several with commas between them');
  return entries.map(readToken);
}

/**
 * Reads one token per source, in order; null for a source that gets none. @throws {Error} whose message is the reason
 */
export function readTokenPlaces(text: string): readonly (string | null)[] {
  return entriesOf(text).map((entry) => (entry === '' ? null : readToken(entry)));
}

/**
 * Reads keys of a variable that once held a single key, which could contain commas: the whole text is accepted, too.
 */
export function readKeys(text: string): readonly string[] {
  const keys = readTokens(text);
  return keys.length > 1 ? [...keys, text] : keys;
}

/** Reads the token that is sent to another service, which may accept several: the first one. @throws {Error} as readTokens */
export const readFirstToken = (text: string): string => readTokens(text)[0]!;
