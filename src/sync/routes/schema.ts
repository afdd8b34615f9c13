import type { FastifyPluginAsync } from 'fastify';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams } from '../../service/schema/parameters.ts';
import type { FairQueue } from '../../service/turns/fair-queue.ts';
import { databaseKey } from '../../wire/data/database.ts';
import { SchemaRecordSchema } from '../../wire/data/schema.ts';
import { SNAPSHOT_HEADERS } from '../../wire/data/snapshot.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const REQUESTS_PER_MINUTE = 600;

interface Schema {
  readonly body: Buffer;
  readonly fingerprint: string;
}

/** `GET /schema/:dbType/:chain/:network`: the body comes from the actor as JSON text, once for each schema, and is passed on as it is. */
export const schemaRoutes: FastifyPluginAsync<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader; readonly turns: FairQueue }
> = async (app, { directory, addressOf, turns }) => {
  const limit = createLimit(app, { name: 'schema', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  const kept = new Map<string, Schema>();

  app.get(
    '/schema/:dbType/:chain/:network',
    {
      config: {
        mode: 'server',
        reads: true,
        doc: {
          tag: 'Snapshots',
          summary: 'The replicated tables, as CREATE TABLE texts and described column by column',
          headers: { 'X-Schema-Fingerprint': 'changes when a table, column or key does' },
          statuses: [429]
        }
      },
      schema: { params: databaseParams(), response: { 200: SchemaRecordSchema } }
    },
    async (request, reply) => {
      const id = databaseOf(request);
      const key = databaseKey(id);
      const actor = readyActor(directory, id);
      const { body, fingerprint } = await turns.take(request, 'schema', async () => {
        const known = kept.get(key);
        const read = await actor.ask('schema.read', known ? { known: known.fingerprint } : {});
        const schema = read.body === null ? known! : { ...read, body: Buffer.from(read.body) };
        kept.set(key, schema);
        return schema;
      });
      return reply.header(SNAPSHOT_HEADERS.fingerprint, fingerprint).type('application/json; charset=utf-8').send(body);
    }
  );
};
