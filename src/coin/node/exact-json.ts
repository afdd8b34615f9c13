/** The part of `JSON` that TypeScript's library does not declare yet. */
interface SourceReadingJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
}

const SAFE_INTEGER = /^-?\d{1,15}$/;

/**
 * Parses JSON without losing digits: a number that is not a whole number of at most 15 digits becomes the text that was
 * sent.
 *
 * @throws {SyntaxError}
 * @see https://github.com/tc39/proposal-json-parse-with-source
 */
export function parseExactJson(text: string): unknown {
  return (JSON as unknown as SourceReadingJson).parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && !SAFE_INTEGER.test(source) ? source : value
  );
}
