import type { FastifyPluginAsync } from 'fastify';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';

/** `POST /halt/clear/:dbType/:chain/:network`: an operator's word that a halted replica may go on. */
export const haltRoutes: FastifyPluginAsync<Pick<AppDeps, 'control'>> = async (app, { control }) => {
  const config = { mode: 'client', operator: true } as const;
  app.post('/halt/clear/:dbType/:chain/:network', { config }, async (request) => {
    const id = databaseOf(request);
    const { was } = await control.clearHalt(id);
    if (was === null) return { ok: true, halted: false, message: 'the replica was not halted' };
    request.log.warn({ database: id, was }, 'halt cleared by an operator');
    return { ok: true, cleared: true, was, note: 'restart the service for a clean catch-up' };
  });
};
