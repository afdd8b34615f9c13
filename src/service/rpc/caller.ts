import type { IncomingMessage } from 'node:http';
import { isNear } from '../callers/address.ts';

/** Returns whether a request comes from a program of this machine: over the loopback, through no proxy, and not from a web page. */
export function isLocalRequest(request: IncomingMessage): boolean {
  return isNear(request, 'loopback') && request.headers.origin === undefined;
}
