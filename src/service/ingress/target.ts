import type { IncomingMessage } from 'node:http';

/** Characters of names and addresses, and a port. @see RFC 3986 section 3.2.2 */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|[\w.-]*)(?::(\d{0,5}))?$/i;
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i;
const MOST_PORT = 65_535;

/** Takes the host of `GET http://host/path` for the one that is meant, whatever the Host field says. @see RFC 9112 section 3.2.2 */
export function readAbsoluteTarget(request: IncomingMessage): void {
  const [, authority, rest] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (authority === undefined || rest === undefined) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = authority;
}

/** Returns whether a request names one host, in a way that is read alike everywhere. One of HTTP 1.0 may name none. */
export function namesOneHost({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  const fields = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (fields.length > 1 || (headers.host === undefined && httpVersion !== '1.0')) return false;
  const [whole, port] = AUTHORITY.exec(headers.host ?? '') ?? [];
  return whole !== undefined && Number(port ?? 0) <= MOST_PORT;
}
