import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { WebSocket } from 'ws';
import type { AddressVersions } from '../../coin/chains.ts';
import { canonicalAddress } from '../../coin/script/address.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { AddressReader } from '../../service/address.ts';
import { errorHandler } from '../../service/errors.ts';
import { readSendBuffer, type SendBuffer } from '../../service/stream/send-buffer.ts';
import { acceptWebSockets } from '../../service/stream/web-sockets.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { Subject } from '../live/advance.ts';
import { LiveStream } from '../live/live-stream.ts';
import { PUBLIC_NAMES } from '../public-names.ts';
import { type ApiDeps, ONE_NETWORK } from './api.ts';
import { CoinSchema, QuerySchema } from './parameters.ts';

const SubjectSchema = Type.Object({
  address: Type.Optional(QuerySchema('an address, whose actions are sent')),
  token: Type.Optional(QuerySchema('a ticker, whose actions are sent'))
});
const DOC = {
  tag: 'Blocks',
  summary: 'Each new block, and the actions in it of an address or a token, by WebSocket',
  description: 'The server sends `ready`, then `block` and `action`, and `reorg`, `gap` and `cut` where they apply.',
  statuses: [101, 400, 404, 429, 503]
} as const;

type LiveDeps = Pick<ApiDeps, 'coins' | 'limit'> & { readonly addressOf: AddressReader; readonly log: Logger };

/** `/{COIN}/api/websocket`: what is new, as it comes. */
export function liveRoutes(app: FastifyInstance, { coins, limit, addressOf, log }: LiveDeps): void {
  void app.register(async (plugin) => {
    const sockets = acceptWebSockets(plugin);
    const streams = new Map<Coin, LiveStream>();
    const streamOf = (coin: Coin): LiveStream => {
      const known = streams.get(coin);
      if (known) return known;
      const stream = new LiveStream(coin, log);
      streams.set(coin, stream);
      coin.gone.addEventListener('abort', () => {
        streams.delete(coin);
        stream.close();
      });
      return stream;
    };
    plugin.addHook('preClose', async () => {
      for (const stream of streams.values()) stream.close();
    });
    plugin.setErrorHandler(errorHandler({ withCode: 'always', names: PUBLIC_NAMES }));
    plugin.addHook('onRequest', limit.take);
    const subscribe = (request: FastifyRequest, reply: FastifyReply) => {
      const coin = findCoin(coins(), (request.params as { coin?: string }).coin);
      const stream = streamOf(coin);
      sockets.check(request);
      const { addresses } = coin.network;
      const subject = readSubject(request.query as Readonly<Partial<Record<Subject['type'], string>>>, addresses);
      const address = addressOf(request.raw);
      sockets.open(request, reply, (socket, connection) =>
        stream.subscribe(socket, { address, subject, sendBuffer: bufferOf(socket, connection) })
      );
    };
    for (const coin of [{ coin: CoinSchema }, {}]) {
      const isNamed = 'coin' in coin;
      const config = { open: true, doc: isNamed ? DOC : { ...DOC, tag: ONE_NETWORK } };
      const schema = { params: Type.Object(coin), querystring: SubjectSchema };
      plugin.get(`${isNamed ? '/:coin' : ''}/api/websocket`, { exposeHeadRoute: false, config, schema }, subscribe);
    }
  });
}

/** What TLS holds back is in no socket's own count. */
function bufferOf(socket: WebSocket, connection: Socket): () => SendBuffer {
  return () =>
    'encrypted' in connection ? { waitingBytes: socket.bufferedAmount, takenBytes: 0 } : readSendBuffer(connection);
}

/** @throws {PlatformError} REQUEST_INVALID */
function readSubject(
  { address, token }: Readonly<Partial<Record<Subject['type'], string>>>,
  versions: AddressVersions
): Subject | null {
  if (address !== undefined && token !== undefined)
    throw new PlatformError('REQUEST_INVALID', { reason: 'send an address or a token, not both' });
  if (address !== undefined) return { type: 'address', query: canonicalAddress(address, versions) ?? address };
  return token === undefined ? null : { type: 'token', query: token };
}

/** True for the upgrade requests that an explorer serves. */
export function isLiveRequest(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && /^(?:\/[A-Za-z]{1,10})?\/api\/websocket(?:\?|$)/.test(url);
}
