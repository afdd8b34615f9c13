import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { PlatformError } from '../../errors.ts';
import { SUBPROTOCOL } from '../callers/auth.ts';
import { countUpgrade, hangUp } from '../ingress/ingress.ts';

/** Version that is named to a caller that asks for another one. @see RFC 6455, 4.2.2 */
const VERSION = '13';
const MAX_CLIENT_MESSAGE_BYTES = 4096;
/** Pieces of one message at most: each keeps the whole 64 KiB buffer that it was read into. */
const MAX_CLIENT_FRAGMENTS = 2;
/** Reads that one frame may take. */
const MAX_CLIENT_READS = 64;
/** Answers to pings that a client has not taken; one more ends it. */
const MAX_PONGS = 60;
/** Time for a socket to drain after it was asked to close. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Makes WebSockets of requests that a route admitted. */
export interface WebSockets {
  /** Whether the request asks for a WebSocket. @throws {PlatformError} REQUEST_INVALID when it does not */
  check(request: FastifyRequest): void;
  /** Answers the request with the upgrade. Nothing else may answer it then. */
  open(request: FastifyRequest, reply: FastifyReply, onOpen: (socket: WebSocket, connection: Socket) => void): void;
}

/**
 * Sends upgrade requests through the router like all others, so that a refusal is the same HTTP answer, from the same
 * checks, before any upgrade. Once for each app.
 *
 * @param answerHeader a header line of each upgrade's answer
 */
export function acceptWebSockets(app: FastifyInstance, answerHeader?: string): WebSockets {
  const upgrades = new WeakMap<IncomingMessage, { readonly socket: Duplex; readonly head: Buffer }>();
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_CLIENT_MESSAGE_BYTES,
    maxFragments: MAX_CLIENT_FRAGMENTS,
    maxBufferedChunks: MAX_CLIENT_READS,
    maxPendingAutoPongs: MAX_PONGS,
    closeTimeout: CLOSE_TIMEOUT_MS,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false)
  } as ConstructorParameters<typeof WebSocketServer>[0]);

  if (answerHeader) sockets.on('headers', (headers) => headers.push(answerHeader));

  app.server.on('upgrade', (raw, socket, head) => {
    upgrades.set(raw, { socket, head });
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    if (raw.headers['sec-websocket-version'] !== VERSION) response.setHeader('sec-websocket-version', VERSION);
    response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
    response.once('finish', () => hangUp(socket));
    const waitMs = countUpgrade(app.server as Server, raw);
    if (waitMs > 0) setTimeout(() => app.routing(raw, response), waitMs).unref();
    else app.routing(raw, response);
  });

  return {
    check({ raw }) {
      if (!upgrades.has(raw) || !isHandshake(raw))
        throw new PlatformError('REQUEST_INVALID', {
          reason: `this route needs a WebSocket upgrade, version ${VERSION}`
        });
    },
    open({ raw }, reply, onOpen) {
      const { socket, head } = upgrades.get(raw)!;
      reply.hijack();
      reply.raw.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
      const connection = raw.socket;
      sockets.handleUpgrade(raw, socket, head, (opened) => onOpen(opened, connection));
    }
  };
}

/** Returns whether a request is a WebSocket handshake; `ws` would refuse others in plain text. */
function isHandshake({ headers, httpVersion }: IncomingMessage): boolean {
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers;
  return httpVersion === '1.1' && version === '13' && /^[+/0-9A-Za-z]{22}==$/.test(key);
}
