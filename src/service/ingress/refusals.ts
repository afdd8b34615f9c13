import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { codeOfStatus } from '../errors.ts';
import { namesOneHost } from './target.ts';

/** The answers to requests that reach no route. */
export interface Refusal {
  readonly status: number;
  readonly error: string;
}

export const MAX_HEADER_BYTES = 16_384; // a since-snapshot's URL may have 14,000
export const MAX_HEADER_FIELDS = 100;

/** The parser's code for header fields, or a URL, that are too long. */
export const HEADER_OVERFLOW = 'HPE_HEADER_OVERFLOW';

/** By the parser's code, the answer to an unreadable request; any other code means a malformed one. */
const UNREADABLE: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request did not come in time' },
  [HEADER_OVERFLOW]: { status: 431, error: `the header fields are larger than ${MAX_HEADER_BYTES} bytes` }
};

export function unreadable(code: string): Refusal {
  return UNREADABLE[code] ?? { status: 400, error: 'malformed HTTP request' };
}

/** Returns the refusal of a request by the rules that hold for every route. */
export function refusalOf(request: IncomingMessage): Refusal | undefined {
  const { method, headers, rawHeaders } = request;
  if (rawHeaders.length > 2 * MAX_HEADER_FIELDS)
    return { status: 431, error: `more than ${MAX_HEADER_FIELDS} header fields` };
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect))
    return { status: 417, error: 'the only expectation that is met is 100-continue' };
  if (!namesOneHost(request)) return { status: 400, error: 'a request needs one Host: a name or an address' };
  // Whoever passes a request on may have read another body than this service would.
  if (!/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? ''))
    return { status: 501, error: 'the only transfer coding that is taken is chunked' };
  if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? ''))
    return { status: 415, error: 'bodies are taken as they are, without a coding' };
  // Nobody reads it.
  if ((method === 'GET' || method === 'HEAD') && hasContent(headers))
    return { status: 400, error: `${method} takes no body` };
  return undefined;
}

export function hasContent(headers: IncomingMessage['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the whole answer, after which the connection ends. @param withCode the service's errors have a code each */
export function refusalText({ status, error }: Refusal, withCode: boolean): string {
  const body = JSON.stringify(withCode ? { error, code: codeOfStatus(status) } : { error });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body
  ].join('\r\n');
}
