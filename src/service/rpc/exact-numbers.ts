/** A piece of a text. */
export interface Span {
  readonly from: number;
  readonly end: number;
}

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LARGE_E = 0x45;
const ESCAPE = 0x5c;
const SMALL_E = 0x65;

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const SPACE = /[ \t\r\n]/;
/** Most of a body: no method takes one as a parameter, and each costs two microseconds. */
const MOST_EXACT = 1_000;
/** Digits of 2^53. */
const EXACT_DIGITS = 16;

/**
 * Finds the whole numbers beyond 2^53 that stand where JSON has a value. What is no JSON stays for the parser to refuse.
 *
 * @throws {SyntaxError} more than MOST_EXACT
 */
export function exactNumbersOf(text: string): Span[] {
  const found: Span[] = [];
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === QUOTE) at = endOfText(text, at);
    else if (beginsNumber(letter)) {
      const span = { from: at, end: endOfNumber(text, at) };
      if (isExact(text, span)) found.push(span);
      if (found.length > MOST_EXACT) throw new SyntaxError(`the body has more than ${MOST_EXACT} numbers beyond 2^53`);
      at = span.end - 1;
    }
  }
  return found;
}

/** Returns the place of the quotation mark that ends a text. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === QUOTE) return at;
    if (letter === ESCAPE) at++;
  }
  return text.length;
}

const beginsNumber = (letter: number) => (letter >= ZERO && letter <= NINE) || letter === MINUS;
const isInNumber = (letter: number) =>
  beginsNumber(letter) || letter === POINT || letter === SMALL_E || letter === LARGE_E || letter === PLUS;

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isInNumber(text.charCodeAt(at))) at++;
  return at;
}

function isExact(text: string, { from, end }: Span): boolean {
  const number = text.slice(from, end);
  if (number.length < EXACT_DIGITS && !/e/i.test(number)) return false;
  if (!Number.isInteger(Number(number)) || Number.isSafeInteger(Number(number)) || !NUMBER.test(number)) return false;
  if (!isBetween(text[from - 1], '[,:') || !isBetween(text[end], ',]}')) return false;
  let next = end;
  while (SPACE.test(text[next] ?? '')) next++;
  return text.charCodeAt(next) !== COLON;
}

const isBetween = (letter: string | undefined, marks: string) =>
  letter === undefined || SPACE.test(letter) || marks.includes(letter);
