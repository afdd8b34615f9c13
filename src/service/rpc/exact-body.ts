/** The parts of `JSON` that TypeScript's library does not declare yet. */
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is object;
}
const exactJson = JSON as unknown as ExactJson;

/** Whether a value is a whole number that a JavaScript number cannot hold; it is written again digit for digit. */
export const isExactNumber = (value: unknown): value is object => exactJson.isRawJSON(value);

/**
 * Reads a request's body as JSON. Whole numbers beyond 2^53 keep their digits: see `isExactNumber`.
 *
 * @param text null: it is not UTF-8
 * @throws {SyntaxError} what is not JSON
 */
export function parseExactBody(text: string | null): unknown {
  if (text === null) throw new SyntaxError('the body is not UTF-8');
  try {
    return exactJson.parse(text, (_, value, { source }) =>
      source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
        ? exactJson.rawJSON(source)
        : value
    );
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'the body is not JSON' : 'the body is nested too deep';
    throw new SyntaxError(reason, { cause });
  }
}
