import type { Socket } from 'node:net';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { SUBPROTOCOL } from '../../service/callers/auth.ts';
import { databaseOf, databaseParams, oneOf, SYNC_MODE_NOTE, SYNC_MODES } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { readSendBuffer } from '../../service/stream/send-buffer.ts';
import { acceptWebSockets } from '../../service/stream/web-sockets.ts';
import { AUTH_HEADER } from '../../wire/validator.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const QuerySchema = Type.Object({
  sync_mode: Type.Optional(oneOf(SYNC_MODES, SYNC_MODE_NOTE)),
  after: Type.Optional(
    Type.String({
      pattern: '^\\d{1,15}:[^\\u0000-\\u001f]{1,800}$',
      description:
        'height and hash of the block that the subscriber stands at (an indexer: actions, contract and ledger hash, joined by colons): it gets what followed, or is closed with 4409 when that is not known here'
    })
  ),
  amendments: Type.Optional(
    Type.Literal('1', {
      description:
        'with `AmendmentMessage` and `SettledMessage`; without it, a block brings once more what they brought'
    })
  )
});

const SUBSCRIBE_DOC: RouteDoc = {
  tag: 'Live stream',
  summary: 'Every new block, by WebSocket',
  description: `The server sends \`StatusMessage\`, then \`BlockMessage\` and \`ReorgMessage\` as they come, and \`AmendmentMessage\` and \`SettledMessage\` if asked for; a subscriber may send \`HeartbeatMessage\`, and once within 5 seconds \`AuthMessage\`.

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
  const sockets = acceptWebSockets(app, `${AUTH_HEADER}: bound`);

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
      sockets.check(request);
      const address = addressOf(request.raw);
      if (!fanOut.admits(address)) {
        reply.header('retry-after', 60);
        throw new PlatformError('RATE_LIMITED', { reason: 'too many connections from this address' });
      }
      readyActor(directory, id);
      if (!directory.lastReport(id))
        throw new PlatformError('ACTOR_NOT_READY', { reason: 'the actor has not reported yet' });
      sockets.open(request, reply, (socket, connection) =>
        fanOut.subscribe(id, socket, {
          infraOnly,
          amends: request.query.amendments === '1',
          after: request.query.after,
          address,
          host: request.raw.headers.host,
          sendBuffer: () => readSendBuffer(connection),
          onFault: () => onFault(connection)
        })
      );
    }
  );
};

/** Returns whether we serve this upgrade request; any other offer, such as HTTP/2's, is ignored as HTTP allows. */
export function isSubscription(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && url.startsWith('/subscribe/');
}
