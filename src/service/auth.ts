import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The subprotocol of `/subscribe`; a browser adds its token as `bearer.<base64url token>` beside it. */
export const SUBPROTOCOL = 'platform-sync.v1';

/** The Bearer rule of one process. */
export interface Authenticator {
  /** False: every route is open but those of an operator. */
  readonly configured: boolean;
  /**
   * Whether the caller may read.
   *
   * @param upgrade true also takes the token from the WebSocket subprotocols, where browsers have to put it
   */
  admits(headers: IncomingHttpHeaders, upgrade: boolean): boolean;
  /** Whether the caller may change what the service does; never without a token. */
  admitsOperator(headers: IncomingHttpHeaders): boolean;
}

/** The tokens that are taken: several while one replaces another. */
export interface AcceptedTokens {
  /** SYNC_API_KEY. */
  readonly readers?: readonly string[] | undefined;
  /** SYNC_OPERATOR_KEY, which also reads; without it the readers operate. */
  readonly operators?: readonly string[] | undefined;
}

/** The rule for these tokens. */
export function createAuthenticator({ readers = [], operators = [] }: AcceptedTokens): Authenticator {
  const reading = [...readers, ...operators].map(digest);
  const operating = (operators.length > 0 ? operators : readers).map(digest);
  return {
    configured: readers.length > 0,
    admits: (headers, upgrade) =>
      isAmong(reading, bearerToken(headers) ?? (upgrade ? subprotocolToken(headers) : undefined)),
    admitsOperator: (headers) => isAmong(operating, bearerToken(headers))
  };
}

/** Every key is compared, so that the time tells nothing. */
function isAmong(accepted: readonly Buffer[], token: string | undefined): boolean {
  if (token === undefined) return false;
  const offered = digest(token);
  return accepted.filter((key) => timingSafeEqual(key, offered)).length > 0;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function bearerToken({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

function subprotocolToken(headers: IncomingHttpHeaders): string | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((entry) => entry.trim());
  const bearer = offered.find((entry) => entry.startsWith('bearer.'));
  return bearer && offered.includes(SUBPROTOCOL)
    ? Buffer.from(bearer.slice('bearer.'.length), 'base64url').toString('utf8')
    : undefined;
}
