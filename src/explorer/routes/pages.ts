import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { publicFailure } from '../../service/errors.ts';
import { sendPage } from '../../service/pages/page.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import { LISTS } from '../lists/lists.ts';
import { failureView } from '../pages/failures.ts';
import { layout, type Site } from '../pages/layout.ts';
import { linksIn, pathOf } from '../pages/parts.ts';
import { searchView } from '../pages/search-view.ts';
import type { Asked, ReadAnswer, View } from '../pages/view.ts';
import { networksView, VIEWS } from '../pages/views.ts';
import { PUBLIC_NAMES } from '../public-names.ts';
import type { Question } from '../question.ts';
import { type ApiDeps, STATUSES } from './api.ts';

const NameSchema = Type.String({ minLength: 1, maxLength: 250, description: 'at most 250 letters' });
const CursorSchema = Type.Object({ cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024 })) });

const DOC = {
  tag: 'Pages',
  description: 'The same below `/{COIN}`.',
  mediaType: 'text/html',
  errorPages: true,
  statuses: STATUSES
} as const;

/** In any case; a pattern of the router has no flags. */
const CODES = CHAIN_NETWORKS.map(({ code }) =>
  [...code].map((letter) => `[${letter}${letter.toLowerCase()}]`).join('')
);
const CODE = `:coin(^(?:${CODES.join('|')})$)`;

/**
 * Pages for people, whole without a script: `/`, `/search`, and one for each kind of thing; below `/{COIN}` too. Of several
 * networks, `/` is a list.
 */
export function pageRoutes(
  app: FastifyInstance,
  { coins, limit, reads }: Pick<ApiDeps, 'coins' | 'limit' | 'reads'>
): void {
  void app.register(async (plugin) => {
    plugin.addHook('onRequest', limit.take);
    plugin.setErrorHandler(async (caught, request, reply) => sendFailure(reply, request, coins(), caught));
    plugin.get(`/${CODE}`, { config: { open: true } }, async ({ params }, reply) =>
      reply.redirect(`/${(params as { coin: string }).coin}/`, 303)
    );
    for (const base of ['', `/${CODE}`]) {
      for (const [kind, view] of Object.entries(VIEWS)) {
        const doc = { ...DOC, summary: `A page: ${kind || 'the newest blocks and actions'}` };
        const names = namesOf(kind);
        const params = Type.Object(Object.fromEntries(names.map((name) => [name, NameSchema])));
        const schema = { ...(names.length === 0 ? {} : { params }), querystring: CursorSchema };
        const config = { open: true, ...(base === '' ? { doc } : {}) };
        plugin.get(
          [`${base}/${kind}`, ...names.map((name) => `:${name}`)].join('/'),
          { config, schema },
          async (request, reply) => {
            if (kind === '' && base === '' && coins().length > 1)
              return send(reply, NO_SITE, networksView(coins().map((coin) => siteOf(coin, coin.network.code))));
            const asked = {
              ...(request.query as { cursor?: string }),
              name: (request.params as { name?: string }).name ?? '',
              other: (request.params as { other?: string }).other ?? ''
            };
            const { site, make } = makerOf(request, coins(), reads);
            return send(reply, site, await make((parts) => view({ ...asked, ...parts })));
          }
        );
      }
      const schema = { querystring: Type.Object({ q: NameSchema }) };
      const doc = { ...DOC, summary: 'A page: what a text names', statuses: [303, ...STATUSES] };
      const config = { open: true, ...(base === '' ? { doc } : {}) };
      plugin.get(`${base}/search`, { config, schema }, async (request, reply) => {
        const { site, make } = makerOf(request, coins(), reads);
        const name = (request.query as { q: string }).q.trim() || '*';
        const { only, ...view } = await make((parts) => searchView({ name, other: '', ...parts }));
        return only === null ? send(reply, site, view) : reply.redirect(pathOf(site.base, only.type, only.value), 303);
      });
    }
  });
}

/** Returns the names in the path of a page: none at the front page, two of a market. */
function namesOf(kind: string): readonly string[] {
  if (kind === '') return [];
  return kind === 'market' ? ['name', 'other'] : ['name'];
}

/** @param onMark called with what tells the block of each answer */
function readerOf(
  coin: Coin,
  request: FastifyRequest,
  reads: FairReads,
  onMark: (mark: string | null) => void
): ReadAnswer {
  return async (method, { limit = 10, ...asked } = {}) => {
    const order = LISTS[method]?.usualOrder ?? 'desc';
    const question = { method, parameters: {}, page: 1, limit, order, format: 'json', ...asked } as const;
    const ask = (more: Partial<Question>) => reads.take(coin, request, () => coin.read({ ...question, ...more }));
    let isRanked = true;
    const { body, next, mark } = await ask({}).catch(async (caught: unknown) => {
      const height = coin.report()?.height;
      // Too many rows to put in order: those of the newest block come in the order of their keys.
      if (!LISTS[method]?.rank || height == null || !hasCode(caught, 'REQUEST_INVALID')) throw caught;
      isRanked = false;
      return await ask({ height });
    });
    onMark(mark);
    const answer = JSON.parse(body) as { data: unknown };
    return { data: method in LISTS ? answer.data : answer, next, isRanked };
  };
}

/** Returns the kind of thing that a request's path names. */
const kindIn = ({ routeOptions: { url = '' } }: FastifyRequest): string => /\/(\w+)\/:name/.exec(url)?.[1] ?? '';

/** Site of the pages that are of no network. */
const NO_SITE: Site = { name: 'explorer', code: null, base: '', height: null };

/** @param asked the code in the path; undefined where it has none */
const siteOf = ({ network: { name, code }, report }: Coin, asked: string | undefined): Site => ({
  name,
  code,
  base: asked === undefined ? '' : `/${code}`,
  height: report()?.height ?? null
});

const codeIn = ({ params }: FastifyRequest): string | undefined => (params as { coin?: string }).coin;

/** Times that a page is made at most, where each time another block comes meanwhile. */
const MOST_TIMES = 3;

/** Returns the maker of pages of a request's network, read at one block. @throws {PlatformError} COIN_* */
function makerOf(request: FastifyRequest, coins: readonly Coin[], reads: FairReads) {
  const code = codeIn(request);
  const coin = findCoin(coins, code);
  const site = siteOf(coin, code);
  const { network } = coin;
  const make = async <V>(view: (parts: Pick<Asked, 'read' | 'linkTo' | 'network' | 'report'>) => Promise<V>) => {
    for (let left = MOST_TIMES; ; left--) {
      const marks = new Set<string | null>();
      const read = readerOf(coin, request, reads, (mark) => marks.add(mark));
      const made = await view({ read, linkTo: linksIn(site.base), network, report: coin.report() });
      if (marks.size <= 1 || left === 1) return made;
    }
  };
  return { site, make };
}

function send(reply: FastifyReply, site: Site, { title, body }: View): FastifyReply {
  return sendPage(reply, layout(site, title, body), 'self');
}

/** Sends an error as a page, with the status that a program would get. */
function sendFailure(
  reply: FastifyReply,
  request: FastifyRequest,
  coins: readonly Coin[],
  caught: unknown
): FastifyReply {
  const error = PlatformError.from(caught);
  const status = PUBLIC_NAMES[error.code]?.status ?? error.status;
  const title = status === 404 ? 'Not found' : status < 500 ? 'It cannot be shown' : 'Not now';
  const { name, other } = request.params as { name?: string; other?: string };
  const names = [name, other].filter((each) => each !== undefined);
  const code = codeIn(request)?.toUpperCase();
  const coin = code === undefined && coins.length === 1 ? coins[0] : coins.find(({ network }) => network.code === code);
  const site = coin ? siteOf(coin, code) : NO_SITE;
  const kind = kindIn(request);
  const base = coin ? site.base : null;
  return send(reply.code(status), site, failureView({ title, reason: publicFailure(error), base, kind, names }));
}
