import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { createLimit } from '../../service/callers/limits.ts';
import type { FrameParts } from '../../service/frame.ts';
import { payerOf } from '../../service/ingress/payer.ts';
import { MOST_CHARGED_MS } from '../../service/ingress/work-budget.ts';
import { type InTurn, partsOf } from '../../service/rpc/calls.ts';
import { StreamedResult } from '../../service/rpc/streamed-result.ts';
import { oneOf, wholeNumber } from '../../service/schema/parameters.ts';
import { readSendBuffer } from '../../service/stream/send-buffer.ts';
import { sendPieces } from '../../service/stream/sending.ts';
import { acceptWebSockets } from '../../service/stream/web-sockets.ts';
import { pagesOf } from '../pages.ts';
import type { HubDatabase } from '../store/database.ts';
import { STREAM_PARTS } from '../store/prices/price-changes.ts';
import { EMPTY_TABLES, STREAMED_TABLES, type StreamedTable } from '../store/prices/streamed-tables.ts';
import { MAX_ROWS, type PriceStream, type ResumeIds, SCHEMA_VERSION } from './price-stream.ts';

interface StreamDeps extends Pick<FrameParts, 'addressOf' | 'authenticator' | 'budget' | 'turns'> {
  readonly database: HubDatabase;
  readonly stream: PriceStream;
  readonly requestsPerMinute: number;
}

/** Rows of a table that are read at once, by what a row may hold. */
const PAGE_ROWS = { price_snapshots: 100, oracle_prices: 1_000 } as const;

const SnapshotSchema = Type.Object({
  table: oneOf([...STREAMED_TABLES, ...EMPTY_TABLES]),
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
  const { database, stream, addressOf, authenticator, turns, requestsPerMinute } = deps;
  const sockets = acceptWebSockets(app);
  app.addHook('preClose', async () => stream.close());
  const limit = createLimit(app, {
    name: 'hub-db',
    max: requestsPerMinute,
    windowMs: 60_000,
    addressOf,
    authenticator
  });
  limit.guard(app);

  /** Sends a page as it is read, at the pace of its reader. */
  const sendPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    table: StreamedTable,
    { since_id: since, limit, latest }: { since_id?: string; limit?: string; latest?: boolean }
  ) => {
    const most = Number(limit ?? MAX_ROWS);
    if (most > MAX_ROWS) throw new PlatformError('REQUEST_INVALID', { reason: `limit must be at most ${MAX_ROWS}` });
    const watermark = Math.floor(Date.now() / 1000);
    const address = addressOf(request.raw);
    const { charge, pay } = payerOf(deps, request);
    const isGone = () => request.raw.socket.destroyed;
    const inTurn: InTurn = async (work) => {
      await pay({});
      return await turns.take({ address, isGone }, work);
    };
    let count = 0;
    let held: readonly number[] | undefined;
    const readHeld = async (after: number, atOnce: number) => {
      held ??= await database.readOnce('latestOracleIds', watermark, after, most);
      return held.filter((id) => id > after).slice(0, atOnce);
    };
    const pages = () =>
      pagesOf(most, PAGE_ROWS[table], async (last, atOnce) => {
        const after = last ?? Number(since ?? 0);
        const began = performance.now();
        const ids = latest ? await readHeld(after, atOnce) : null;
        const page = await (ids ? database.page('oraclePricesOf', ids) : database.page('pageOf', table, after, atOnce));
        count += page.count;
        charge({ rows: page.count, ms: Math.min(performance.now() - began, MOST_CHARGED_MS) });
        // A row that is gone by now is passed over, and the next page follows.
        return ids ? { ...page, count: ids.length, lastId: ids.at(-1) ?? null } : page;
      });
    const mode = table === 'oracle_prices' ? { mode: latest ? 'latest' : 'page' } : {};
    async function* pieces() {
      yield `{"table":"${table}","rows":`;
      yield* partsOf(StreamedResult.ofRows(pages).pieces(), inTurn);
      yield `,${JSON.stringify({ count, watermark, schema_version: SCHEMA_VERSION, ...mode }).slice(1)}`;
    }
    return await sendPieces(reply, pieces(), charge);
  };
  app.get(
    '/hub-db/snapshot/price_snapshots',
    {
      config: { doc: { tag, summary: 'Prices of rounds by id; of pairs without a price too' } },
      schema: { querystring: Type.Object(Page), response: { 200: SnapshotSchema } }
    },
    async (request, reply) => await sendPage(request, reply, 'price_snapshots', request.query)
  );
  app.get(
    '/hub-db/snapshot/oracle_prices',
    {
      config: { doc: { tag, summary: 'What addresses say that tokens cost, by id, or what holds now' } },
      schema: {
        querystring: Type.Object({
          ...Page,
          latest: Type.Optional(oneOf(['0', '1', 'false', 'true'], '; 1 or true: of each feed the row that holds'))
        }),
        response: { 200: SnapshotSchema }
      }
    },
    async (request, reply) => {
      const latest = ['1', 'true'].includes(request.query.latest ?? '');
      return await sendPage(request, reply, 'oracle_prices', { ...request.query, latest });
    }
  );
  for (const table of EMPTY_TABLES)
    app.get(
      `/hub-db/snapshot/${table}`,
      {
        config: { doc: { tag, summary: 'No rows: this hub runs without consensus' } },
        schema: { querystring: Type.Object(Page), response: { 200: SnapshotSchema } }
      },
      async () => {
        const watermark = Math.floor(Date.now() / 1000);
        return { table, rows: [], count: 0, watermark, schema_version: SCHEMA_VERSION };
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
    async (request, reply) => {
      sockets.check(request);
      await limit.take(request, reply); // an upgrade is no answer that is counted, and reads the database
      const resume = readResume(request.query.since_id ?? '');
      const address = addressOf(request.raw);
      const { pay } = payerOf(deps, request);
      sockets.open(request, reply, (socket, connection) => {
        const inTurn: InTurn = (work) => turns.take({ address, isGone: () => connection.destroyed }, work);
        stream.subscribe(socket, { address, resume, sendBuffer: () => readSendBuffer(connection), pay, inTurn });
      });
    }
  );
};

function readResume(text: string): ResumeIds {
  const entries = text.split(',').flatMap((entry) => (entry === '' ? [] : [entry.split(':')]));
  return Object.fromEntries(entries.map(([table, id]) => [table, Number(id)]));
}

/** Returns whether the hub serves this upgrade request. */
export function isStreamRequest(url = '', upgrade = ''): boolean {
  return upgrade.toLowerCase() === 'websocket' && url.startsWith('/hub-db/subscribe');
}
