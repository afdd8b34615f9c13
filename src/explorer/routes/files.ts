import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import type { Question } from '../question.ts';
import { CoinSchema, QuerySchema } from './parameters.ts';

/** Types under which a browser runs nothing of what it gets. */
const SAFE_TYPES = /^(?:image\/(?:png|jpeg|gif|webp)|text\/plain|audio\/(?:mpeg|ogg|wav)|video\/(?:mp4|webm))$/;
const ANY_BYTES = 'application/octet-stream';
/** Anybody puts such bytes on the chain: a page that shows them shares nothing with this service. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'content-disposition': 'attachment',
  'cache-control': 'no-store'
} as const;
const DOC: RouteDoc = {
  tag: 'Actions',
  mediaType: 'application/octet-stream',
  summary: 'Sends the bytes of a file, inflated where the chain has them deflated; those of a gated one are encrypted',
  statuses: [400, 404, 429, 503]
};

interface Deps {
  readonly coins: () => readonly Coin[];
  readonly reads: FairReads;
}

/** Adds the path of the bytes of files, which are no JSON. */
export function fileRoutes(app: FastifyInstance, { coins, reads }: Deps): void {
  for (const coin of [{ coin: CoinSchema }, {}])
    app.get(
      `${'coin' in coin ? '/:coin' : ''}/api/file/:query/raw`,
      {
        config: { open: true, ...('coin' in coin ? { doc: DOC } : {}) },
        schema: { params: Type.Object({ ...coin, query: QuerySchema('action index') }) }
      },
      async (request, reply) => await sendFile(request, reply, { coins, reads })
    );
}

async function sendFile(request: FastifyRequest, reply: FastifyReply, { coins, reads }: Deps): Promise<FastifyReply> {
  const { coin: code, query } = request.params as { coin?: string; query: string };
  const coin = findCoin(coins(), code);
  const question: Question = {
    method: 'file_raw',
    query,
    parameters: {},
    page: 1,
    limit: 1,
    order: 'desc',
    format: 'json'
  };
  const { body } = await reads.take(coin, request, () => coin.read(question));
  const { type, form, bytes } = JSON.parse(body) as { type: string | null; form: string; bytes: string };
  const isSafe = form === 'whole' && type !== null && SAFE_TYPES.test(type);
  reply.headers(HEADERS).header('content-type', isSafe ? type : ANY_BYTES);
  if (form !== 'whole') reply.header('x-xchain-stored-form', form === 'encrypted' ? 'encrypted (gated)' : form);
  return reply.send(Buffer.from(bytes, 'base64'));
}
