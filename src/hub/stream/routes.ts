import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../../service/address.ts';
import { createLimit } from '../../service/limits.ts';
import { oneOf, wholeNumber } from '../../service/parameters.ts';
import { readSendBuffer } from '../../service/stream/send-buffer.ts';
import { acceptWebSockets } from '../../service/stream/web-sockets.ts';
import type { HubDatabase } from '../store/database.ts';
import { STREAM_PARTS } from '../store/prices/price-changes.ts';
import { STREAMED_TABLES, type StreamedTable } from '../store/prices/streamed-tables.ts';
import { MAX_ROWS, type PriceStream, type ResumeIds, SCHEMA_VERSION } from './price-stream.ts';

interface StreamDeps {
  readonly database: HubDatabase;
  readonly stream: PriceStream;
  readonly addressOf: AddressReader;
  readonly requestsPerMinute: number;
}

const SnapshotSchema = Type.Object({
  table: oneOf(STREAMED_TABLES),
  rows: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
  count: Type.Integer(),
  watermark: Type.Integer({ description: 'epoch seconds' }),
  schema_version: Type.Integer(),
  mode: Type.Optional(oneOf(['page', 'latest']))
});
const Page = {
  since_id: Type.Optional(wholeNumber({ min: 0, default: 0, note: 'rows with a greater id are sent' })),
  limit: Type.Optional(wholeNumber({ min: 1, default: MAX_ROWS, note: `at most ${MAX_ROWS}` }))
};
const MARK = `(?:${STREAM_PARTS.join('|')}):[0-9]{1,15}`;
const RESUME = `^${MARK}(?:,${MARK}){0,${STREAM_PARTS.length - 1}}$`;
const ResumeSchema = Type.Object({
  since_id: Type.Optional(
    Type.String({
      pattern: RESUME,
      description: 'the last ids that are known, such as removals:3,price_snapshots:12,oracle_prices:7'
    })
  )
});
const tag = 'Prices';

/** `/hub-db/snapshot/*` and the WebSocket `/hub-db/subscribe`: the price tables, a page at a time and as they grow. */
export const streamRoutes: FastifyPluginAsyncTypebox<StreamDeps> = async (app, deps) => {
  const { database, stream, addressOf, requestsPerMinute } = deps;
  const sockets = acceptWebSockets(app);
  app.addHook('preClose', async () => stream.close());
  createLimit(app, { name: 'hub-db', max: requestsPerMinute, windowMs: 60_000, addressOf }).guard(app);

  const readPage = async (
    table: StreamedTable,
    since: string | undefined,
    limit: string | undefined,
    latest = false
  ) => {
    const [sinceId, most] = [Number(since ?? 0), Number(limit ?? MAX_ROWS)];
    if (most > MAX_ROWS) throw new PlatformError('REQUEST_INVALID', { reason: `limit must be at most ${MAX_ROWS}` });
    const watermark = Math.floor(Date.now() / 1000);
    const rows = latest
      ? await database.read('latestOraclePrices', watermark, sinceId, most)
      : await database.read('pageOf', table, sinceId, most);
    return { table, rows, count: rows.length, watermark, schema_version: SCHEMA_VERSION };
  };
  app.get(
    '/hub-db/snapshot/price_snapshots',
    {
      config: { doc: { tag, summary: 'Prices of rounds by id; of pairs without a price too' } },
      schema: { querystring: Type.Object(Page), response: { 200: SnapshotSchema } }
    },
    async ({ query }) => await readPage('price_snapshots', query.since_id, query.limit)
  );
  app.get(
    '/hub-db/snapshot/oracle_prices',
    {
      config: { doc: { tag, summary: 'What addresses say that tokens cost, by id, or what holds now' } },
      schema: {
        querystring: Type.Object({
          ...Page,
          latest: Type.Optional(oneOf(['0', '1'], '; 1: of each feed the row that holds'))
        }),
        response: { 200: SnapshotSchema }
      }
    },
    async ({ query }) => {
      const latest = query.latest === '1';
      const page = await readPage('oracle_prices', query.since_id, query.limit, latest);
      return { ...page, mode: latest ? ('latest' as const) : ('page' as const) };
    }
  );
  app.get(
    '/hub-db/subscribe',
    {
      exposeHeadRoute: false,
      config: {
        doc: {
          tag,
          summary: 'Each new row of both tables, by WebSocket',
          description: 'The server sends `ready`, then `row:inserted`, `row:deleted` and every 10 s `watermark`.',
          statuses: [101]
        }
      },
      schema: { querystring: ResumeSchema }
    },
    (request, reply) => {
      sockets.check(request);
      const resume = readResume(request.query.since_id ?? '');
      const address = addressOf(request.raw);
      sockets.open(request, reply, (socket, connection) =>
        stream.subscribe(socket, { address, resume, sendBuffer: () => readSendBuffer(connection) })
      );
    }
  );
};

function readResume(text: string): ResumeIds {
  const entries = text.split(',').flatMap((entry) => (entry === '' ? [] : [entry.split(':')]));
  return Object.fromEntries(entries.map(([table, id]) => [table, Number(id)]));
}

/** True for the upgrade requests that the hub serves. */
export function isStreamRequest(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && url.startsWith('/hub-db/subscribe');
}
