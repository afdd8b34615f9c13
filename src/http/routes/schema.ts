import type { FastifyPluginAsync } from 'fastify';
import { SNAPSHOT_HEADERS } from '../../wire/snapshot.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { readyActor } from '../ready.ts';

/** `GET /schema/:dbType/:chain/:network`: the body comes from the actor as JSON text and is passed on as it is. */
export const schemaRoutes: FastifyPluginAsync<Pick<AppDeps, 'directory'>> = async (app, { directory }) => {
  app.get('/schema/:dbType/:chain/:network', { config: { mode: 'server' } }, async (request, reply) => {
    const { body, fingerprint } = await readyActor(directory, databaseOf(request)).ask('schema.read', {});
    return reply.header(SNAPSHOT_HEADERS.fingerprint, fingerprint).type('application/json; charset=utf-8').send(body);
  });
};
