import { randomUUID } from 'node:crypto';
import type { JsonShape } from '../schema/json-shape.ts';
import { exactNumbersOf, type Span } from './exact-numbers.ts';

/** The parts of `JSON` that TypeScript's library does not declare yet. */
interface ExactJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is object;
}
const exactJson = JSON as unknown as ExactJson;

/** Returns whether a value is a whole number that a JavaScript number cannot hold; it is written again digit for digit. */
export const isExactNumber = (value: unknown): value is object => exactJson.isRawJSON(value);

/**
 * Reads a request's body as JSON. Whole numbers beyond 2^53 keep their digits: see `isExactNumber`.
 *
 * @throws {SyntaxError} what is not JSON, or has too many of them
 */
export function parseExactBody(text: string, { hasLongNumber }: Pick<JsonShape, 'hasLongNumber'>): unknown {
  const exact = hasLongNumber ? exactNumbersOf(text) : [];
  try {
    return exact.length > 0 ? parseMarked(text, exact) : JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError('the body is not JSON', { cause });
  }
}

/**
 * Parses text whose exact numbers are marked by a word that no caller knows: a reviver, which sees every value, takes
 * twenty times as long.
 */
function parseMarked(text: string, exact: readonly Span[]): unknown {
  const mark = randomUUID();
  const pieces: string[] = [];
  let at = 0;
  for (const { from, end } of exact) {
    pieces.push(text.slice(at, from), '"', mark, text.slice(from, end), '"');
    at = end;
  }
  return unmark(JSON.parse(pieces.join('') + text.slice(at)), mark);
}

function unmark(value: unknown, mark: string): unknown {
  if (typeof value === 'string' && value.startsWith(mark)) return exactJson.rawJSON(value.slice(mark.length));
  if (typeof value !== 'object' || value === null) return value;
  for (const [name, each] of Object.entries(value)) {
    const found = unmark(each, mark);
    // Defined and not assigned: a name may be `__proto__`.
    if (found !== each)
      Object.defineProperty(value, name, { value: found, configurable: true, enumerable: true, writable: true });
  }
  return value;
}
