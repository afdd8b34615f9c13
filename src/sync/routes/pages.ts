import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams, wholeNumber } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { FairQueue } from '../../service/turns/fair-queue.ts';
import { DispensersSchema, LookupPageSchema, PAGE_HEADERS } from '../../wire/data/pages.ts';
import { IDENTIFIER_PATTERN } from '../../wire/data/schema.ts';
import { SNAPSHOT_HEADERS, type SnapshotCoding } from '../../wire/data/snapshot.ts';
import { chooseOptionalCoding } from '../http/content-coding.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';
import { varyByCoding } from '../http/send-artifact.ts';

const REQUESTS_PER_MINUTE = 600;
const DEFAULT_LIMIT = 50_000;
const MAX_LIMIT = 100_000;
const DEADLINE_MS = 90_000;

const PageParamsSchema = databaseParams({
  table: Type.String({ pattern: IDENTIFIER_PATTERN, description: 'the name of a lookup table' })
});
const PageQuerySchema = Type.Object({
  after_id: Type.Optional(wholeNumber({ min: 0, digits: 20, note: 'rows above it; without it from the first' })),
  limit: Type.Optional(wholeNumber({ min: 1, default: DEFAULT_LIMIT, note: `above ${MAX_LIMIT} it counts as that` }))
});

const ROWS_DOC: RouteDoc = {
  tag: 'Snapshots',
  summary: 'One page of a lookup table, by id',
  description: 'A page ends at `limit` rows or at 32 MiB. In gzip or zstd for a client that accepts it.',
  headers: { 'X-Max-Id': 'the highest id of the page', 'X-Has-More': 'whether there are rows above it' },
  statuses: [429]
};
const DISPENSERS_DOC: RouteDoc = {
  tag: 'Snapshots',
  summary: 'The dispensers of a decoder database, which no block carries',
  headers: { 'X-Block-Height': 'the tip when they were read' },
  statuses: [413, 429]
};

/**
 * `GET /snapshot-rows/:dbType/:chain/:network/:table`, a page of a lookup table, and
 * `GET /snapshot-dispensers/decoder/:chain/:network`, the table that no block carries. Bodies come from the actor as JSON,
 * in the coding that the client names.
 */
export const pageRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader }
> = async (app, { directory, addressOf }) => {
  const limit = createLimit(app, { name: 'snapshot-rows', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  const turns = new FairQueue(addressOf);

  app.get(
    '/snapshot-rows/:dbType/:chain/:network/:table',
    {
      config: { mode: 'server', reads: true, doc: ROWS_DOC },
      schema: { params: PageParamsSchema, querystring: PageQuerySchema, response: { 200: LookupPageSchema } }
    },
    async (request, reply) => {
      const { table } = request.params;
      const { after_id, limit: asked } = request.query;
      const coding = chooseOptionalCoding(request.headers['accept-encoding']);
      const order = {
        coding,
        table,
        afterId: after_id ?? null,
        limit: Math.min(Number(asked ?? DEFAULT_LIMIT), MAX_LIMIT)
      };
      const actor = readyActor(directory, databaseOf(request));
      const { body, maxId, hasMore } = await turns.take(request, JSON.stringify(order), () =>
        actor.ask('lookups.page', order, { deadlineMs: DEADLINE_MS })
      );
      if (maxId !== null) reply.header(PAGE_HEADERS.maxId, maxId);
      reply.header(PAGE_HEADERS.hasMore, hasMore);
      return sendEncoded(reply, body, coding);
    }
  );

  app.get(
    '/snapshot-dispensers/:dbType/:chain/:network',
    {
      config: {
        mode: 'server',
        reads: true,
        only: { dbType: 'decoder', reason: 'dispensers are decoder-only' },
        doc: DISPENSERS_DOC
      },
      schema: { params: databaseParams(), response: { 200: DispensersSchema } }
    },
    async (request, reply) => {
      const actor = readyActor(directory, databaseOf(request));
      const coding = chooseOptionalCoding(request.headers['accept-encoding']);
      const { body, height } = await turns.take(request, `dispensers ${coding}`, () =>
        actor.ask('dispensers.read', { coding }, { deadlineMs: DEADLINE_MS })
      );
      if (height !== null) reply.header(SNAPSHOT_HEADERS.height, height);
      return sendEncoded(reply, body, coding);
    }
  );
};

function sendEncoded(reply: FastifyReply, body: Uint8Array<ArrayBuffer>, coding: SnapshotCoding | null) {
  varyByCoding(reply).type('application/json; charset=utf-8');
  if (coding !== null) reply.header('content-encoding', coding);
  return reply.send(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}
