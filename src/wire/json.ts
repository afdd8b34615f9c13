/** Deeper than any document of the contract; a row may hold JSON of its own, nested to 64. */
const MAX_DEPTH = 100;

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What a byte outside of texts does to the depth. */
const STEP = new Int8Array(256);
STEP[0x7b] = STEP[0x5b] = 1;
STEP[0x7d] = STEP[0x5d] = -1;

/**
 * JSON that came from outside. Each level of nesting costs the parser a hundred times the memory of its one byte, so its depth is
 * bounded before it begins.
 *
 * @throws {SyntaxError} for what is no JSON, no UTF-8, or nested deeper than 100
 */
export function parseJson(bytes: Uint8Array, parse: (text: string) => unknown = JSON.parse): unknown {
  if (depthOf(bytes) > MAX_DEPTH) throw new SyntaxError(`JSON nested deeper than ${MAX_DEPTH}`);
  return parse(decode(bytes));
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new SyntaxError('JSON that is no UTF-8', { cause });
  }
}

/** The deepest level, or the first that is too deep; of what is no JSON, any number. */
function depthOf(bytes: Uint8Array): number {
  const { length } = bytes;
  let deepest = 0;
  for (let at = 0, depth = 0; at < length && deepest <= MAX_DEPTH; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      for (at++; at < length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else {
      depth += STEP[byte]!;
      if (depth > deepest) deepest = depth;
    }
  }
  return deepest;
}
