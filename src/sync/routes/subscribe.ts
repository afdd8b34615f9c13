import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { WebSocketServer } from 'ws';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../../service/address.ts';
import { SUBPROTOCOL } from '../../service/auth.ts';
import { hangUp } from '../../service/ingress/front-door.ts';
import { databaseOf, databaseParams, oneOf, SYNC_MODE_NOTE, SYNC_MODES } from '../../service/parameters.ts';
import type { RouteDoc } from '../../service/route-doc.ts';
import { AUTH_HEADER } from '../../wire/validator.ts';
import { readSendBuffer } from '../fan-out/send-buffer.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const MAX_CLIENT_MESSAGE_BYTES = 4096;
/** Pieces in which one message may come: each keeps all 64 KiB that it was read with. */
const MAX_CLIENT_FRAGMENTS = 2;
/** Reads that one frame may take. */
const MAX_CLIENT_READS = 64;
/** Answers to pings that a client has not taken; one more ends it. */
const MAX_PONGS = 60;
/** How long a socket may still drain after it was asked to close. */
const CLOSE_TIMEOUT_MS = 5_000;

const QuerySchema = Type.Object({
  sync_mode: Type.Optional(oneOf(SYNC_MODES, SYNC_MODE_NOTE))
});

const SUBSCRIBE_DOC: RouteDoc = {
  tag: 'Live stream',
  summary: 'Every new block, by WebSocket',
  description: `The server sends \`StatusMessage\`, then \`BlockMessage\` and \`ReorgMessage\` as they come; a subscriber may send \`HeartbeatMessage\`, and once within 5 seconds \`AuthMessage\`.

The token comes in \`Authorization\` or, from browsers, as subprotocol \`bearer.<base64url token>\` beside \`${SUBPROTOCOL}\`.`,
  statuses: [101, 429]
};

/**
 * `/subscribe/:dbType/:chain/:network`: upgrade requests go through the router like all others, so that a refusal
 * is the same HTTP answer, from the same checks, before any upgrade.
 */
export const subscribeRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory' | 'fanOut'> & {
    readonly addressOf: AddressReader;
    readonly onFault: (socket: Socket) => void;
  }
> = async (app, { directory, fanOut, addressOf, onFault }) => {
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

  sockets.on('headers', (headers) => headers.push(`${AUTH_HEADER}: bound`));

  app.server.on('upgrade', (raw, socket, head) => {
    upgrades.set(raw, { socket, head });
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
    response.once('finish', () => hangUp(socket));
    app.routing(raw, response);
  });

  app.get(
    '/subscribe/:dbType/:chain/:network',
    {
      exposeHeadRoute: false,
      config: { mode: 'server', doc: SUBSCRIBE_DOC },
      schema: { params: databaseParams(), querystring: QuerySchema }
    },
    (request, reply) => {
      const id = databaseOf(request);
      const infraOnly = request.query.sync_mode === 'infra-only';
      if (infraOnly && id.dbType !== 'indexer')
        throw new PlatformError('REQUEST_INVALID', { reason: 'sync_mode=infra-only is for indexer databases' });
      const upgrade = upgrades.get(request.raw);
      if (!upgrade || !isHandshake(request.raw))
        throw new PlatformError('REQUEST_INVALID', { reason: 'this route needs a WebSocket upgrade, version 13' });
      const address = addressOf(request.raw);
      if (!fanOut.admits(address)) {
        reply.header('retry-after', 60);
        throw new PlatformError('RATE_LIMITED', { reason: 'too many connections from this address' });
      }
      readyActor(directory, id);
      if (!directory.lastReport(id))
        throw new PlatformError('ACTOR_NOT_READY', { reason: 'the actor has not reported yet' });
      reply.hijack();
      reply.raw.detachSocket(upgrade.socket as Parameters<ServerResponse['detachSocket']>[0]);
      const connection = request.raw.socket;
      sockets.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (socket) =>
        fanOut.subscribe(id, socket, {
          infraOnly,
          address,
          host: request.raw.headers.host,
          sendBuffer: () => readSendBuffer(connection),
          onFault: () => onFault(connection)
        })
      );
    }
  );
};

/** True for the upgrade requests that we serve; any other offer, such as HTTP/2's, is ignored as HTTP allows. */
export function isSubscription(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && url.startsWith('/subscribe/');
}

/** What `ws` would refuse in plain text. */
function isHandshake({ headers, httpVersion }: IncomingMessage): boolean {
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers;
  return httpVersion === '1.1' && version === '13' && /^[+/0-9A-Za-z]{22}==$/.test(key);
}
