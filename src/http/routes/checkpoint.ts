import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { CheckpointSchema } from '../../wire/checkpoint.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { databaseParams, wholeNumber } from '../parameters.ts';
import { readyActor } from '../ready.ts';

/** `GET /checkpoint/indexer/:chain/:network/{latest,:height}`: a signed state root, where the database records them. */
export const checkpointRoutes: FastifyPluginAsyncTypebox<Pick<AppDeps, 'directory'>> = async (app, { directory }) => {
  const base = '/checkpoint/:dbType/:chain/:network';
  const config = {
    mode: 'server',
    reads: true,
    only: { dbType: 'indexer', reason: 'checkpoints are indexer-only' },
    doc: {
      tag: 'Transparency',
      summary: 'A state root with its signatures, where the database records them',
      description: 'Signed is the UTF-8 text of the RFC 8785 form of the record without `validator_signatures`.'
    }
  } as const;
  const response = { 200: CheckpointSchema };

  app.get(`${base}/latest`, { config, schema: { params: databaseParams(), response } }, async (request) =>
    readyActor(directory, databaseOf(request)).ask('checkpoint.read', { height: null })
  );

  const params = databaseParams({ height: wholeNumber({ min: 0 }) });
  app.get(`${base}/:height`, { config, schema: { params, response } }, async (request) =>
    readyActor(directory, databaseOf(request)).ask('checkpoint.read', { height: Number(request.params.height) })
  );
};
