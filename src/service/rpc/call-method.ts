import { PlatformError } from '../../errors.ts';
import { readBounded } from '../../wire/bounded.ts';
import { parseJson } from '../../wire/json.ts';
import { RPC_CODES } from './codes.ts';

interface CallOptions {
  readonly apiKey?: string | undefined;
  /** Ends the call: there is no other limit of time. */
  readonly signal: AbortSignal;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_LETTERS = 200;

/**
 * Calls a JSON-RPC method of another service; the body is bounded and redirects are not followed.
 *
 * @returns the result, not checked
 * @throws an Error that says what came instead; `reasonOf` words it, also where nothing came
 */
export async function callMethod(
  url: string,
  method: string,
  params: object,
  { apiKey, signal }: CallOptions
): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal
  });
  const body = await readBounded(
    response.body ?? [],
    MAX_BODY_BYTES,
    () => new Error(`answered more than ${MAX_BODY_BYTES} bytes`)
  );
  if (!response.ok) {
    const error = errorIn(body);
    const code = codeOf(error) ?? (response.status === 429 ? RPC_CODES.RATE_LIMITED : undefined);
    const waitS = Number(response.headers.get('retry-after') ?? Number.NaN);
    throw new AnsweredError(`answered HTTP ${response.status}${error ? `: ${printError(error)}` : ''}`, code, waitS);
  }
  const reply: unknown = parseJson(body);
  if (typeof reply !== 'object' || reply === null) throw new Error('answered no JSON-RPC reply');
  if ('error' in reply && reply.error) {
    throw new AnsweredError(`answered ${printError(reply.error)}`, codeOf(reply.error));
  }
  return 'result' in reply ? reply.result : undefined;
}

const USUAL_WAIT_S = 5;

/** A service answered with an error instead of a result; `code` is that of the JSON-RPC error, if it has one. */
export class AnsweredError extends Error {
  readonly code: number | undefined;
  /** Seconds after which it may be asked again. */
  readonly retryAfterS: number;

  constructor(message: string, code?: number, retryAfterS = USUAL_WAIT_S) {
    super(message);
    this.code = code;
    this.retryAfterS = retryAfterS > 0 ? retryAfterS : USUAL_WAIT_S;
  }
}

/** Returns why a call failed. fetch hides the interesting part in its cause. */
export function reasonOf(caught: unknown): string {
  if (caught instanceof PlatformError) return String(caught.detail['reason'] ?? caught.message);
  if (!(caught instanceof Error)) return String(caught);
  const cause = caught.cause instanceof Error ? caught.cause : caught;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

const printError = (error: unknown): string => JSON.stringify(error).slice(0, MAX_ERROR_LETTERS);

function codeOf(error: unknown): number | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'number' ? code : undefined;
}

/** Returns the error of a JSON-RPC reply under a status that is none of success; undefined where the body is no such reply. */
function errorIn(body: Buffer): unknown {
  try {
    return (Object(parseJson(body)) as { readonly error?: unknown }).error;
  } catch {
    return undefined;
  }
}
