import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The subprotocol of `/subscribe`; a browser adds its token as `bearer.<base64url token>` beside it. */
export const SUBPROTOCOL = 'platform-sync.v1';

/** The Bearer rule of one process. */
export interface Authenticator {
  /** False: every route is open but those of an operator. */
  readonly configured: boolean;
  /** @param upgrade true also takes the token from the WebSocket subprotocols, where browsers have to put it */
  admits(headers: IncomingHttpHeaders, upgrade: boolean): boolean;
}

/** @param keys SYNC_API_KEY: one token, or two with a comma between them while one replaces the other */
export function createAuthenticator(keys: string | undefined): Authenticator {
  const accepted = (keys ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
    .map(digest);
  return {
    configured: accepted.length > 0,
    admits: (headers, upgrade) => {
      const token = bearerToken(headers) ?? (upgrade ? subprotocolToken(headers) : undefined);
      if (token === undefined) return false;
      const offered = digest(token);
      // Every key is compared, so that the time tells nothing.
      return accepted.filter((key) => timingSafeEqual(key, offered)).length > 0;
    }
  };
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
