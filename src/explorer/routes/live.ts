import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { WebSocket } from 'ws';
import type { AddressVersions } from '../../coin/chains.ts';
import { canonicalAddress } from '../../coin/script/address.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { errorHandler } from '../../service/errors.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { readSendBuffer, type SendBuffer } from '../../service/stream/send-buffer.ts';
import { acceptWebSockets } from '../../service/stream/web-sockets.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { Subject } from '../live/advance.ts';
import { ChannelStream } from '../live/channel-stream.ts';
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

const CHANNEL_DOC = {
  tag: 'Blocks',
  summary: 'Sends what is new, by the channels that a client follows, by WebSocket',
  description:
    'The server sends `WELCOME`. The client sends `{"action": "subscribe", "channels": [...], "params": {...}}`, `unsubscribe`, `list_subscriptions` or `ping`.',
  statuses: [101, 400, 404, 429, 503]
} as const;

type LiveDeps = Pick<ApiDeps, 'coins' | 'limit' | 'reads' | 'version'> & {
  readonly addressOf: AddressReader;
  readonly log: Logger;
};

/** Adds `/{COIN}/api/stream`, which brings what is new, and `/{COIN}/api/websocket`, the same by channels, as clients in use ask for it. */
export function liveRoutes(app: FastifyInstance, deps: LiveDeps): void {
  const { coins, limit, reads, addressOf, log, version } = deps;
  void app.register(async (plugin) => {
    const sockets = acceptWebSockets(plugin);
    const streams = new StreamsByCoin((coin) => new LiveStream(coin, log));
    const channels = new StreamsByCoin((coin) => new ChannelStream(coin, log, version));
    plugin.addHook('preClose', async () => {
      streams.close();
      channels.close();
    });
    plugin.setErrorHandler(errorHandler({ withCode: 'always', names: PUBLIC_NAMES }));
    plugin.addHook('onRequest', limit.take);
    const admit = (request: FastifyRequest): Coin => {
      const coin = findCoin(coins(), (request.params as { coin?: string }).coin);
      sockets.check(request);
      return coin;
    };
    const subscribe = (request: FastifyRequest, reply: FastifyReply) => {
      const coin = admit(request);
      const subject = readSubject(
        request.query as Readonly<{ address?: string; token?: string }>,
        coin.network.addresses
      );
      const address = addressOf(request.raw);
      sockets.open(request, reply, (socket, connection) =>
        streams.of(coin).subscribe(socket, { address, subject, sendBuffer: bufferOf(socket, connection) })
      );
    };
    const follow = (request: FastifyRequest, reply: FastifyReply) => {
      const coin = asRequest(() => admit(request));
      const address = addressOf(request.raw);
      channels.of(coin).admit(address);
      sockets.open(request, reply, (socket, connection) =>
        channels.of(coin).take(socket, {
          address,
          payer: reads.payerOf(request),
          sendBuffer: bufferOf(socket, connection),
          read: (question) => reads.take(coin, request, () => coin.read(question))
        })
      );
    };
    for (const coin of [{ coin: CoinSchema }, {}]) {
      const isNamed = 'coin' in coin;
      const base = isNamed ? '/:coin' : '';
      const configOf = (doc: RouteDoc) => ({ open: true, doc: isNamed ? doc : { ...doc, tag: ONE_NETWORK } });
      const params = Type.Object(coin);
      const options = { exposeHeadRoute: false } as const;
      const own = { ...options, config: configOf(DOC), schema: { params, querystring: SubjectSchema } };
      plugin.get(`${base}/api/stream`, own, subscribe);
      plugin.get(`${base}/api/websocket`, { ...options, config: configOf(CHANNEL_DOC), schema: { params } }, follow);
    }
  });
}

/** Tells clients of channels of an unknown network what they know: that the request is wrong. */
function asRequest(find: () => Coin): Coin {
  try {
    return find();
  } catch (caught) {
    throw hasCode(caught, 'COIN_UNKNOWN') ? new PlatformError('REQUEST_INVALID', caught.detail) : caught;
  }
}

/** The streams of networks, made when somebody follows one, and closed with it. */
class StreamsByCoin<S extends { close(): void }> {
  readonly #make: (coin: Coin) => S;
  readonly #streams = new Map<Coin, S>();

  constructor(make: (coin: Coin) => S) {
    this.#make = make;
  }

  of(coin: Coin): S {
    const known = this.#streams.get(coin);
    if (known) return known;
    const stream = this.#make(coin);
    this.#streams.set(coin, stream);
    coin.gone.addEventListener('abort', () => {
      this.#streams.delete(coin);
      stream.close();
    });
    return stream;
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.close();
  }
}

/** Returns a reader of a socket's send buffer; the bytes that TLS holds back are in no socket's own count. */
function bufferOf(socket: WebSocket, connection: Socket): () => SendBuffer {
  return () =>
    'encrypted' in connection ? { waitingBytes: socket.bufferedAmount, takenBytes: 0 } : readSendBuffer(connection);
}

/** @throws {PlatformError} REQUEST_INVALID */
function readSubject(
  { address, token }: Readonly<{ address?: string; token?: string }>,
  versions: AddressVersions
): Subject | null {
  if (address !== undefined && token !== undefined)
    throw new PlatformError('REQUEST_INVALID', { reason: 'send an address or a token, not both' });
  if (address !== undefined) return { type: 'address', query: canonicalAddress(address, versions) ?? address };
  return token === undefined ? null : { type: 'token', query: token };
}

/** Returns whether an explorer serves this upgrade request. */
export function isLiveRequest(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && /^(?:\/[A-Za-z]{1,10})?\/api\/(?:websocket|stream)(?:\?|$)/.test(url);
}
