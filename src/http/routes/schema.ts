import type { FastifyPluginAsync } from 'fastify';
import { SchemaRecordSchema } from '../../wire/schema.ts';
import { SNAPSHOT_HEADERS } from '../../wire/snapshot.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { databaseParams } from '../parameters.ts';
import { readyActor } from '../ready.ts';

/** `GET /schema/:dbType/:chain/:network`: the body comes from the actor as JSON text and is passed on as it is. */
export const schemaRoutes: FastifyPluginAsync<Pick<AppDeps, 'directory'>> = async (app, { directory }) => {
  app.get(
    '/schema/:dbType/:chain/:network',
    {
      config: {
        mode: 'server',
        reads: true,
        doc: {
          tag: 'Snapshots',
          summary: 'The replicated tables, as CREATE TABLE texts and described column by column',
          headers: { 'X-Schema-Fingerprint': 'changes when a table, column or key does' }
        }
      },
      schema: { params: databaseParams(), response: { 200: SchemaRecordSchema } }
    },
    async (request, reply) => {
      const { body, fingerprint } = await readyActor(directory, databaseOf(request)).ask('schema.read', {});
      return reply.header(SNAPSHOT_HEADERS.fingerprint, fingerprint).type('application/json; charset=utf-8').send(body);
    }
  );
};
