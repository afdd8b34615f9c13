import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams } from '../../service/schema/parameters.ts';
import { FairQueue } from '../../service/turns/fair-queue.ts';
import { SharedTurns } from '../../service/turns/shared-turns.ts';
import { Turns } from '../../service/turns/turns.ts';
import { databaseKey } from '../../wire/data/database.ts';
import {
  DatabaseDigestSchema,
  DIGEST_KEY_PATTERN,
  DigestKeySchema,
  DigestParametersSchema,
  DigestPartSchema,
  type DigestQuery,
  isOfPass,
  partOf,
  RangeRowsSchema,
  TableRangesSchema
} from '../../wire/data/digest.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const REQUESTS_PER_MINUTE = 600;
/** Every row of the database is hashed when the tip is new. */
const DEADLINE_MS = 300_000;
/** Asks of passes and keys that one actor has at once: each may take minutes, and each key and part that is named is another one. */
const ASKS_AT_ONCE = 16;

/**
 * `GET /digest/:dbType/:chain/:network/key`: the tip and the key under which its digests are made, at once; of one table (`only`), or
 * of all but some (`without`), if asked.
 * `GET /digest/:dbType/:chain/:network`: digests of all tables, of one table's ranges (`table`, `from`, `to`, `block`), or
 * the rows of a range (`rows=1`), under that key. `GET /digest/:dbType/:chain/:network/challenge/:key`: all tables under a key that an
 * operator chose. The body comes from the actor as JSON text and is passed on as it is.
 */
export const digestRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader }
> = async (app, { directory, addressOf }) => {
  const limit = createLimit(app, { name: 'digest', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  const turns = new FairQueue(addressOf);
  // Callers of a pass share it; questions about tables take turns.
  const asks = new Map<string, SharedTurns<{ body: string }>>();
  const inTurn = (
    request: FastifyRequest,
    question: string,
    ask: () => Promise<{ body: string }>,
    isLasting = false
  ) => {
    const database = databaseKey(databaseOf(request));
    const line = () => new Turns({ atOnce: ASKS_AT_ONCE, patienceMs: DEADLINE_MS });
    const own = asks.get(database) ?? new SharedTurns<{ body: string }>(line());
    asks.set(database, own);
    const { raw } = request;
    const isGone = () => raw.socket.destroyed;
    return own.take({ address: addressOf(raw), isGone }, question, ask, isLasting);
  };
  app.get(
    '/digest/:dbType/:chain/:network',
    {
      config: {
        mode: 'server',
        reads: true,
        doc: {
          tag: 'Comparison',
          summary: 'Digests of all tables, of the ranges of one, or the rows of a range',
          description:
            'Order-independent sums of 64 keyed bits of each row, read in one snapshot at `block_height`. `key` names which; 409: it is not kept any more.',
          statuses: [409, 413, 429]
        }
      },
      schema: {
        params: databaseParams(),
        querystring: DigestParametersSchema,
        response: { 200: Type.Union([DatabaseDigestSchema, TableRangesSchema, RangeRowsSchema]) }
      }
    },
    async (request, reply) => {
      const { table = null, from, to, block, rows, settled, ids, key } = request.query;
      const range =
        from === undefined || to === undefined
          ? null
          : { from: Number(from), to: Number(to), block: block === undefined ? null : Number(block) };
      const isWhole = from === undefined && to === undefined && block === undefined && rows === undefined;
      if (range ? table === null : !isWhole) {
        throw new PlatformError('REQUEST_INVALID', { reason: 'a range needs table, from and to' });
      }
      if (settled !== undefined && (table === null || range))
        throw new PlatformError('REQUEST_INVALID', { reason: 'settled is for a whole table, not for a range' });
      if (table !== null && key === undefined)
        throw new PlatformError('REQUEST_INVALID', {
          reason: 'a table needs a key: ask GET /digest/…/key for it'
        });
      if (ids !== undefined && table === null)
        throw new PlatformError('REQUEST_INVALID', { reason: 'ids=0 needs a table' });
      const further = {
        ...(ids ? { ids: false } : {}),
        ...(settled ? { settled: true } : {}),
        ...(key === undefined ? {} : { key })
      };
      const query = { table, range, rows: rows === '1', ...further };
      const actor = readyActor(directory, databaseOf(request));
      const ask = (asked: DigestQuery) => actor.ask('digest.read', { query: asked }, { deadlineMs: DEADLINE_MS });
      const pass = () => inTurn(request, `pass ${key ?? ''}`, () => ask(allTables(key)), key !== undefined);
      const read = async () => {
        if (table === null) return pass();
        if (!isOfPass(query)) return turns.take(request, JSON.stringify(query), () => ask(query));
        await pass();
        return inTurn(request, JSON.stringify(query), () => ask(query), true); // from memory
      };
      const { body } = await read();
      return reply.type('application/json; charset=utf-8').send(body as never);
    }
  );

  app.get(
    '/digest/:dbType/:chain/:network/key',
    {
      config: {
        mode: 'server',
        reads: true,
        doc: {
          tag: 'Comparison',
          summary: 'The tip, and the key under which its digests are being made',
          description: 'One key for all who ask at one tip. It is drawn when the snapshot stands.',
          statuses: [429]
        }
      },
      schema: { params: databaseParams(), querystring: DigestPartSchema, response: { 200: DigestKeySchema } }
    },
    async (request, reply) => {
      const actor = readyActor(directory, databaseOf(request));
      const part = partOf(request.query);
      const ask = () => actor.ask('digest.key', { part }, { deadlineMs: DEADLINE_MS });
      const { body } = await inTurn(request, `key ${JSON.stringify(part)}`, ask);
      return reply.type('application/json; charset=utf-8').send(body as never);
    }
  );

  app.get(
    '/digest/:dbType/:chain/:network/challenge/:key',
    {
      config: {
        mode: 'server',
        operator: true,
        reads: true,
        doc: {
          tag: 'Comparison',
          summary: 'Digests of all tables under a key of your own',
          description: 'Always needs a configured key. A pass over all tables: one at a time, four an hour.',
          statuses: [429]
        }
      },
      schema: {
        params: databaseParams({ key: Type.String({ pattern: DIGEST_KEY_PATTERN, description: '32 hex digits' }) }),
        response: { 200: DatabaseDigestSchema }
      }
    },
    async (request, reply) => {
      const { key } = request.params;
      const actor = readyActor(directory, databaseOf(request));
      const { body } = await actor.ask('digest.challenge', { key }, { deadlineMs: DEADLINE_MS });
      return reply.type('application/json; charset=utf-8').send(body as never);
    }
  );
};

function allTables(key: string | undefined): DigestQuery {
  return { table: null, range: null, rows: false, ...(key === undefined ? {} : { key }) };
}
