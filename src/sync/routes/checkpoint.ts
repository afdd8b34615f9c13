import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams, wholeNumber } from '../../service/schema/parameters.ts';
import type { FairQueue } from '../../service/turns/fair-queue.ts';
import { CheckpointSchema } from '../../wire/log/checkpoint.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const REQUESTS_PER_MINUTE = 600;

/** `GET /checkpoint/indexer/:chain/:network/{latest,:height}`: a signed state root, where the database records them. */
export const checkpointRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader; readonly turns: FairQueue }
> = async (app, { directory, addressOf, turns }) => {
  const limit = createLimit(app, { name: 'checkpoint', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  const base = '/checkpoint/:dbType/:chain/:network';
  const config = {
    mode: 'server',
    reads: true,
    only: { dbType: 'indexer', reason: 'checkpoints are indexer-only' },
    doc: {
      tag: 'Transparency',
      summary: 'A state root with its signatures, where the database records them',
      description: 'Signed is the UTF-8 text of the RFC 8785 form of the record without `validator_signatures`.',
      statuses: [429]
    }
  } as const;
  const read = (request: FastifyRequest, height: number | null) => {
    const actor = readyActor(directory, databaseOf(request));
    return turns.take(request, request.url, () => actor.ask('checkpoint.read', { height }));
  };
  const response = { 200: CheckpointSchema };

  app.get(`${base}/latest`, { config, schema: { params: databaseParams(), response } }, async (request) =>
    read(request, null)
  );

  const params = databaseParams({ height: wholeNumber({ min: 0 }) });
  app.get(`${base}/:height`, { config, schema: { params, response } }, async (request) =>
    read(request, Number(request.params.height))
  );
};
