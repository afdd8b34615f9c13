import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { errorHandler } from '../../service/errors.ts';
import { databaseOf, databaseParams, wholeNumber } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import type { FairQueue } from '../../service/turns/fair-queue.ts';
import {
  EpochPageSchema,
  EpochRootSchema,
  InclusionProofSchema,
  MAX_PAGE_LIMIT,
  NoEpochSchema,
  OpenEpochSchema,
  TransparencyPageSchema
} from '../../wire/log/transparency.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';

const REQUESTS_PER_MINUTE = 600;
const DEFAULT_LIMIT = 100;
const INDEXER_ONLY = 'transparency log is indexer-only; the decoder database has no synthetic chain-of-state hashes';

const RootsQuerySchema = Type.Object({
  page: Type.Optional(wholeNumber({ min: 0, digits: 9, default: 0 })),
  limit: Type.Optional(
    wholeNumber({ min: 1, default: DEFAULT_LIMIT, note: `above ${MAX_PAGE_LIMIT} it counts as that` })
  )
});
const ProofParamsSchema = databaseParams({ block_index: wholeNumber({ min: 1 }) });

const ROOTS_DOC: RouteDoc = {
  tag: 'Transparency',
  summary: 'The recorded blocks with their hashes, newest first',
  statuses: [429]
};
const EPOCHS_DOC: RouteDoc = { tag: 'Transparency', summary: 'The committed epochs, newest first', statuses: [429] };
const PROOF_DOC: RouteDoc = {
  tag: 'Transparency',
  summary: "A block's way to the Merkle root of its epoch",
  description: 'While the epoch still grows, the answer is `{"error":"epoch not yet committed"}`.',
  statuses: [429]
};
const LATEST_DOC: RouteDoc = { tag: 'Transparency', summary: 'The latest committed epoch', statuses: [429] };

/** `GET /transparency/:dbType/:chain/:network/{roots,epochs,proof/:block_index,root/latest}`. */
export const transparencyRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader; readonly turns: FairQueue }
> = async (app, { directory, addressOf, turns }) => {
  app.setErrorHandler(errorHandler({ withCode: false }));
  const limit = createLimit(app, { name: 'transparency', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  const base = '/transparency/:dbType/:chain/:network';
  const config = {
    only: { dbType: 'indexer', reason: INDEXER_ONLY },
    subject: 'transparency log',
    reads: true
  } as const;
  const ofServer = { ...config, mode: 'server' } as const;

  app.get(
    `${base}/roots`,
    {
      config: { ...config, doc: ROOTS_DOC },
      schema: { params: databaseParams(), querystring: RootsQuerySchema, response: { 200: TransparencyPageSchema } }
    },
    async (request) => {
      const actor = readyActor(directory, databaseOf(request));
      return turns.take(request, request.url, () => actor.ask('transparency.roots', pageOf(request.query)));
    }
  );

  app.get(
    `${base}/epochs`,
    {
      config: { ...ofServer, doc: EPOCHS_DOC },
      schema: { params: databaseParams(), querystring: RootsQuerySchema, response: { 200: EpochPageSchema } }
    },
    async (request) => {
      const actor = readyActor(directory, databaseOf(request));
      return turns.take(request, request.url, () => actor.ask('transparency.epochs', pageOf(request.query)));
    }
  );

  app.get(
    `${base}/proof/:block_index`,
    {
      config: { ...ofServer, doc: PROOF_DOC },
      schema: {
        params: ProofParamsSchema,
        response: { 200: Type.Union([InclusionProofSchema, OpenEpochSchema]) }
      }
    },
    async (request) => {
      const blockIndex = Number(request.params.block_index);
      const actor = readyActor(directory, databaseOf(request));
      return turns.take(request, request.url, () => actor.ask('transparency.proof', { blockIndex }));
    }
  );

  app.get(
    `${base}/root/latest`,
    {
      config: { ...ofServer, doc: LATEST_DOC },
      schema: { params: databaseParams(), response: { 200: Type.Union([EpochRootSchema, NoEpochSchema]) } }
    },
    async (request) => {
      const actor = readyActor(directory, databaseOf(request));
      return turns.take(request, request.url, () => actor.ask('transparency.latest', {}));
    }
  );
};

function pageOf({ page = 0, limit = DEFAULT_LIMIT }: { page?: string | number; limit?: string | number }) {
  return { page: Number(page), limit: Math.min(Number(limit), MAX_PAGE_LIMIT) };
}
