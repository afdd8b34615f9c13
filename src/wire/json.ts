import { MAX_PARSED_BYTES } from './parsed-limit.ts';

/** Deeper than any document of the contract; a row may hold JSON of its own, nested to 64. */
const MAX_DEPTH = 100;

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Change of the depth by a byte outside of texts. */
const STEP = new Int8Array(256);
STEP[0x7b] = STEP[0x5b] = 1;
STEP[0x7d] = STEP[0x5d] = -1;
/** Memory that the parser allocates for a byte outside of texts, roughly: an empty object or list, a member, an element. */
const COST = new Uint8Array(256);
COST[0x7b] = COST[0x5b] = 64;
COST[0x2c] = COST[0x3a] = 24;
/** A text that is shorter cannot cost too much. */
const UNSUSPICIOUS_BYTES = MAX_PARSED_BYTES / 66;

/**
 * Parses JSON that came from outside. Each level of nesting costs the parser a hundred times the memory of its one
 * byte, and an empty object twenty times that of its two. So its depth and its values are bounded before it begins:
 * nothing ends it then, not even the end of its thread.
 *
 * @throws {SyntaxError} if it is not JSON, not UTF-8, nested deeper than 100, or too large once parsed
 */
export function parseJson(bytes: Uint8Array, parse: (text: string) => unknown = JSON.parse): unknown {
  if (depthOf(bytes) > MAX_DEPTH) throw new SyntaxError(`JSON nested deeper than ${MAX_DEPTH}`);
  checkCost(bytes);
  return parse(decode(bytes));
}

/** @throws {SyntaxError} for JSON that would take more than MAX_PARSED_BYTES, as a text and as values */
export function checkCost(bytes: Uint8Array): void {
  const { length } = bytes;
  if (length <= UNSUSPICIOUS_BYTES) return;
  let cost = 2 * length;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = endOfText(bytes, at);
    else cost += COST[byte]!;
  }
  if (cost > MAX_PARSED_BYTES)
    throw new SyntaxError(`JSON of too many values: ${length} bytes would take ${cost} once they are parsed`);
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new SyntaxError('JSON that is no UTF-8', { cause });
  }
}

/** Returns the deepest level, or the first that is too deep; any number if the text is not JSON. */
function depthOf(bytes: Uint8Array): number {
  const { length } = bytes;
  let deepest = 0;
  for (let at = 0, depth = 0; at < length && deepest <= MAX_DEPTH; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = endOfText(bytes, at);
    else {
      depth += STEP[byte]!;
      if (depth > deepest) deepest = depth;
    }
  }
  return deepest;
}

/** Finds the quote that ends the text which begins at a quote. */
export function endOfText(bytes: Uint8Array, start: number): number {
  const { length } = bytes;
  let at = start + 1;
  for (; at < length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}
