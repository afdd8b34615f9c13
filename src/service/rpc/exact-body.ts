import { errorCodes } from 'fastify';
import type { Part } from '../stream/bodies.ts';

type Take = (whole: Pick<Buffer, 'length'>) => Promise<Part>;

/** Taken for a body that does not say how long it is. */
const FIRST_BYTES = 1_024;

/** Keeps a byte order mark, which is no JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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
 * A request's body as JSON. Whole numbers beyond 2^53 keep their digits: see `isExactNumber`.
 *
 * @param take waits for room for all of it; what has no length takes the most; undefined: nobody counts it
 * @throws {SyntaxError} what is not JSON, or not UTF-8  @throws {Error} FST_ERR_CTP_BODY_TOO_LARGE
 */
export async function readExactBody(
  body: AsyncIterable<Buffer>,
  length: string | undefined,
  mostBytes: number,
  take?: Take
): Promise<unknown> {
  return parseJson(await readText(body, length, { mostBytes, take }));
}

/** Into one piece of memory: kept in pieces of a byte, as a body may come, it would take a hundred times as much. */
async function readText(
  body: AsyncIterable<Buffer>,
  length: string | undefined,
  { mostBytes, take }: { readonly mostBytes: number; readonly take: Take | undefined }
): Promise<string> {
  const refuseAbove = (size: number) => {
    if (!(size <= mostBytes)) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  };
  refuseAbove(Number(length ?? 0));
  const part = await take?.({ length: Number(length ?? mostBytes) });
  try {
    let whole = Buffer.alloc(Number(length ?? FIRST_BYTES));
    let filled = 0;
    for await (const piece of body) {
      refuseAbove(filled + piece.length);
      if (filled + piece.length > whole.length) {
        const larger = Buffer.alloc(Math.max(2 * whole.length, filled + piece.length));
        whole.copy(larger, 0, 0, filled);
        whole = larger;
      }
      filled += piece.copy(whole, filled);
      part?.progress(filled);
    }
    return decode(whole.subarray(0, filled));
  } finally {
    part?.release();
  }
}

/** Bytes that are no UTF-8 are refused: replaced, they would make another request than was sent. */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new SyntaxError('the body is not UTF-8', { cause });
  }
}

function parseJson(text: string): unknown {
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
