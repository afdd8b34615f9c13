import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { publicFailure } from '../../service/errors.ts';
import { createLimit } from '../../service/limits.ts';
import { type Coin, findCoin } from '../coins.ts';
import { layout } from '../pages/parts.ts';
import { failureView, type ReadAnswer, searchView, VIEWS, type View } from '../pages/views.ts';
import type { ApiDeps } from './api.ts';

/** A page runs and asks what is this service's own, and sends its form nowhere else. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const WINDOW_MS = 60_000;
const NameSchema = Type.String({ minLength: 1, maxLength: 250, description: 'at most 250 letters' });
const CursorSchema = Type.Object({ cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024 })) });

/** Pages for people, made here and whole without a script: `/`, `/search`, and one for each kind of thing. */
export function pageRoutes(app: FastifyInstance, { coins, requestsPerMinute, addressOf }: ApiDeps): void {
  void app.register(async (plugin) => {
    const limit = createLimit(plugin, { name: 'pages', max: requestsPerMinute, windowMs: WINDOW_MS, addressOf });
    plugin.addHook('onRequest', limit.take);
    plugin.setErrorHandler(async (caught, _, reply) => sendFailure(reply, coins(), caught));
    for (const [kind, view] of Object.entries(VIEWS)) {
      const doc = {
        tag: 'Pages',
        summary: `A page: ${kind || 'the newest blocks and actions'}`,
        mediaType: 'text/html'
      };
      const params = kind === '' ? {} : { params: Type.Object({ name: NameSchema }) };
      plugin.get(
        kind === '' ? '/' : `/${kind}/:name`,
        { config: { open: true, doc }, schema: { ...params, querystring: CursorSchema } },
        async ({ params, query }, reply) => {
          const coin = findCoin(coins(), undefined);
          const { name = '' } = params as { name?: string };
          return send(reply, coin, await view({ name, ...(query as { cursor?: string }), read: readerOf(coin) }));
        }
      );
    }
    plugin.get(
      '/search',
      { config: { open: true }, schema: { querystring: Type.Object({ q: NameSchema }) } },
      async (request: FastifyRequest, reply) => {
        const coin = findCoin(coins(), undefined);
        const name = (request.query as { q: string }).q.trim() || '*';
        const { only, ...view } = await searchView({ name, read: readerOf(coin) });
        return only === null ? send(reply, coin, view) : reply.redirect(only, 303);
      }
    );
  });
}

function readerOf(coin: Coin): ReadAnswer {
  return async (method, { limit = 10, ...asked } = {}) => {
    const question = { method, parameters: {}, page: 1, limit, order: 'desc', format: 'json', ...asked } as const;
    const { body, next } = await coin.read(question);
    const { data } = JSON.parse(Buffer.from(body).toString()) as { data: unknown };
    return { data, next };
  };
}

function send(reply: FastifyReply, { network }: Coin, { title, body }: View): FastifyReply {
  return sendHtml(reply, layout(network.name, title, body));
}

/** What is wrong as a page, with the status that a program would get. */
function sendFailure(reply: FastifyReply, coins: readonly Coin[], caught: unknown): FastifyReply {
  const error = PlatformError.from(caught);
  const title = error.status === 404 ? 'Not found' : error.status < 500 ? 'It cannot be shown' : 'Not now';
  const name = coins[0]?.network.name ?? 'explorer';
  const { body } = failureView(title, publicFailure(error));
  return sendHtml(reply.code(error.status), layout(name, title, body));
}

function sendHtml(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .headers({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache'
    })
    .type('text/html; charset=utf-8')
    .send(page);
}
