import type { IncomingMessage } from 'node:http';

/** Headers of a request that somebody else passed on, or a web page sent. */
const FOREIGN_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'origin'] as const;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/i;

/** Whether a request comes from a program of this machine: over the loopback, through no proxy, and not from a web page. */
export function isLocalRequest({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
  return LOOPBACK.test(socket.remoteAddress ?? '') && FOREIGN_HEADERS.every((name) => headers[name] === undefined);
}
