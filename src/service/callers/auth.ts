import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The subprotocol of `/subscribe`; a browser adds its token as `bearer.<base64url token>` beside it. */
export const SUBPROTOCOL = 'platform-sync.v1';

/** The rule of keys of one process: `Authorization: Bearer KEY` or `X-API-Key: KEY`. */
export interface Authenticator {
  /** False: every route is open but those of an operator. */
  readonly configured: boolean;
  /**
   * Whether the caller may read.
   *
   * @param upgrade true also takes the token from the WebSocket subprotocols, where browsers have to put it
   */
  admits(headers: IncomingHttpHeaders, upgrade: boolean): boolean;
  /** Whether the caller offers a key, and none that is right. */
  hasWrongKey(headers: IncomingHttpHeaders): boolean;
  /** Whether the caller may change what the service does; never without a token. */
  admitsOperator(headers: IncomingHttpHeaders): boolean;
}

/** The tokens that are taken: several while one replaces another. */
export interface AcceptedTokens {
  /** Keys that may read what is not open; without any, everything is open but an operator's actions. */
  readonly readers?: readonly string[] | undefined;
  /** Keys whose callers may also change what the service does; without any, the readers may. */
  readonly operators?: readonly string[] | undefined;
}

/** Makes the rule for these tokens. */
export function createAuthenticator({ readers = [], operators = [] }: AcceptedTokens): Authenticator {
  const reading = [...readers, ...operators].map(digest);
  const operating = (operators.length > 0 ? operators : readers).map(digest);
  return {
    configured: readers.length > 0,
    admits: (headers, upgrade) => offeredIn(headers, upgrade).some((key) => isAmong(reading, key)),
    admitsOperator: (headers) => offeredIn(headers, false).some((key) => isAmong(operating, key)),
    hasWrongKey: (headers) => {
      const offered = offeredIn(headers, headers.upgrade !== undefined);
      return reading.length > 0 && offered.length > 0 && !offered.some((key) => isAmong(reading, key));
    }
  };
}

/** Returns whether a key is among others. It compares every key, so that the time tells nothing. */
function isAmong(accepted: readonly Buffer[], token: string): boolean {
  const offered = digest(token);
  return accepted.filter((key) => timingSafeEqual(key, offered)).length > 0;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Returns all keys of a request. Each may be the right one: a proxy may have put one of another service beside it. */
function offeredIn(headers: IncomingHttpHeaders, upgrade: boolean): readonly string[] {
  const { authorization, 'x-api-key': key } = headers;
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return [bearer, key, upgrade ? subprotocolToken(headers) : undefined].filter((each) => typeof each === 'string');
}

function subprotocolToken(headers: IncomingHttpHeaders): string | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((entry) => entry.trim());
  const bearer = offered.find((entry) => entry.startsWith('bearer.'));
  return bearer && offered.includes(SUBPROTOCOL)
    ? Buffer.from(bearer.slice('bearer.'.length), 'base64url').toString('utf8')
    : undefined;
}
