/** Printable ASCII: what a header carries unchanged. */
const TOKEN = /^[\x21-\x7e]+$/;

function readToken(entry: string): string {
  if (!TOKEN.test(entry)) throw new Error('must be printable ASCII without spaces');
  return entry;
}

const entriesOf = (text: string) => text.split(',').map((entry) => entry.trim());

/**
 * The tokens that a service accepts: one, or several with commas between them while one replaces another. The service
 * sends the first one to others.
 *
 * @throws {Error} whose message is the reason
 */
export function readTokens(text: string): readonly string[] {
  const entries = entriesOf(text).filter((entry) => entry !== '');
  if (entries.length === 0) throw new Error('must be a token, or several with commas between them');
  return entries.map(readToken);
}

/** A token for each source, in their order; null where none is to be sent. @throws {Error} whose message is the reason */
export function readTokenPlaces(text: string): readonly (string | null)[] {
  return entriesOf(text).map((entry) => (entry === '' ? null : readToken(entry)));
}

/** The same for a key that was one text once, commas and all: the whole of it is accepted too. */
export function readKeys(text: string): readonly string[] {
  const keys = readTokens(text);
  return keys.length > 1 ? [...keys, text] : keys;
}
