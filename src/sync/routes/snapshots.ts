import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Artifact } from '../../replication/snapshot/artifact.ts';
import { Reader, resourceOf } from '../../replication/snapshot/artifact-store.ts';
import { RecentOrders } from '../../replication/snapshot/recent-orders.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit, type Limit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams, wholeNumber } from '../../service/schema/parameters.ts';
import type { FairQueue } from '../../service/turns/fair-queue.ts';
import { SCHEMA_VERSION } from '../../wire/data/database.ts';
import {
  SNAPSHOT_HEADERS,
  SnapshotBodySchema,
  type SnapshotCoding,
  type SnapshotQuery
} from '../../wire/data/snapshot.ts';
import { chooseCoding } from '../http/content-coding.ts';
import type { AppDeps } from '../http/deps.ts';
import { readyActor } from '../http/ready.ts';
import { isBegun, sendArtifact, varyByCoding } from '../http/send-artifact.ts';
import { readSnapshotQuery, SnapshotQuerySchema } from '../http/snapshot-query.ts';

const HOUR_MS = 3_600_000;
/** Limit for HEAD and conditional GET, which ask a source and build no snapshot. */
const CHECKS_PER_MINUTE = 600;

const SinceParamsSchema = databaseParams({ blockHeight: wholeNumber({ min: 0 }) });
const SNAPSHOT_DOC = {
  tag: 'Snapshots',
  description:
    'A compressed JSON text, read in one consistent snapshot. It is kept as an artifact with a strong `ETag`: `Range`, `If-Range` and `If-None-Match` are honoured. `HEAD` never starts a build.',
  headers: {
    'X-Block-Height': 'the last block in the body',
    'X-Since-Block': 'the block that was asked for',
    'X-Ledger-Hash': 'of that block; indexer',
    'X-Actions-Hash': 'of that block; indexer',
    'X-Contract-Hash': 'of that block; indexer',
    'X-Block-Hash': 'of that block; decoder',
    'X-Snapshot-Schema-Version': 'indexer 7, decoder 3',
    'X-Schema-Fingerprint': 'of the schema that the rows were read with',
    'X-Whole-Tables': 'tables of which a since-snapshot holds every row',
    'X-First-Block': 'with `older`: the lowest block whose rows are in `tables`',
    'X-Rows': 'an estimate of the rows in the body',
    ETag: 'equal tags mean equal bytes'
  },
  statuses: [206, 304, 416, 429]
} as const;

type SnapshotDeps = Pick<AppDeps, 'config' | 'directory' | 'artifacts' | 'fanOut' | 'origin' | 'stored'> & {
  readonly addressOf: AddressReader;
  readonly turns: FairQueue;
};

/** The answer to a request. */
interface Answering extends SnapshotDeps {
  readonly artifacts: NonNullable<SnapshotDeps['artifacts']>;
  readonly orders: RecentOrders;
  readonly checks: Limit;
}

/**
 * `GET /snapshot/:dbType/:chain/:network` and `.../since/:blockHeight`.
 *
 * What counts against the hourly limits is a body from its first byte on; 304, ranges of an artifact that was begun
 * before, and refusals do not. HEAD tells what is known and never starts a build. What has to be asked of the source has a
 * limit of its own.
 */
export const snapshotRoutes: FastifyPluginAsyncTypebox<SnapshotDeps> = async (app, deps) => {
  const { SNAPSHOT_RATE_FULL, SNAPSHOT_RATE_INCR } = deps.config;
  const { addressOf } = deps;
  const full = createLimit(app, { name: 'snapshot-full', max: SNAPSHOT_RATE_FULL, windowMs: HOUR_MS, addressOf });
  const since = createLimit(app, { name: 'snapshot-since', max: SNAPSHOT_RATE_INCR, windowMs: HOUR_MS, addressOf });
  const checks = createLimit(app, { name: 'snapshot-check', max: CHECKS_PER_MINUTE, windowMs: 60_000, addressOf });
  const { artifacts } = deps;
  const answering = artifacts && { ...deps, artifacts, orders: new RecentOrders(), checks };
  const base = '/snapshot/:dbType/:chain/:network';
  for (const [path, limit, params, summary] of [
    [base, full, databaseParams(), 'All rows of the replicated tables'],
    [`${base}/since/:blockHeight`, since, SinceParamsSchema, 'All rows of the blocks after one']
  ] as const) {
    const options = {
      exposeHeadRoute: false,
      config: { mode: 'server', doc: { ...SNAPSHOT_DOC, summary } },
      schema: { params, querystring: SnapshotQuerySchema, response: { 200: SnapshotBodySchema } }
    } as const;
    app.get(path, options, (request, reply) =>
      answering ? answerGet(request, reply, answering, limit) : answerStored(request, reply, deps, limit)
    );
    app.head(path, options, (request, reply) =>
      answering ? answerHead(request, reply, answering) : sendHead(request, reply)
    );
  }
};

async function answerGet(request: FastifyRequest, reply: FastifyReply, deps: Answering, limit: Limit) {
  const query = readSnapshotQuery(request, isInclusive(deps.config));
  const coding = chooseCoding(request.headers['accept-encoding']);
  const reader = readerOf(request, reply, deps);
  const resumed = findResumed(request, query, coding, deps);
  if (resumed && isBegun(resumed, request)) return sendArtifact(resumed, request, reply, reader);
  const isConditional = request.headers['if-none-match'] ?? request.headers.range;
  if (isConditional === undefined) await limit.check(request, reply);
  const order = await describe(request, reply, query, deps);
  const begun = deps.artifacts.find(order, coding);
  if (begun && isBegun(begun, request)) return sendArtifact(begun, request, reply, reader);
  await limit.check(request, reply);
  const obtained = await deps.artifacts.obtain(order, coding, reader).catch(async (caught: unknown) => {
    if (reader.isGone) await limit.take(request, reply); // it left its own build
    throw caught;
  });
  await limit.take(request, reply);
  return sendArtifact(obtained, request, reply, reader);
}

/** Answers with a stored snapshot where that is what is asked for; else passes the request on. */
async function answerStored(request: FastifyRequest, reply: FastifyReply, deps: SnapshotDeps, limit: Limit) {
  const { stored, origin } = deps;
  const { since, infraOnly, skipLookups } = readSnapshotQuery(request, false);
  const { range, 'if-range': tag, 'accept-encoding': accepted } = request.headers;
  const resumed = range !== undefined && typeof tag === 'string' ? tag.trim() : undefined;
  const isFull = since === null && !infraOnly && !skipLookups;
  const artifact = isFull ? stored?.find(databaseOf(request), chooseCoding(accepted), resumed) : null;
  if (!artifact) return passOn(request, reply, origin!, limit);
  const reader = readerOf(request, reply, deps);
  reader.enter(artifact);
  if (isBegun(artifact, request)) return sendArtifact(artifact, request, reply, reader);
  await limit.check(request, reply);
  await limit.take(request, reply);
  return sendArtifact(artifact, request, reply, reader);
}

/** Passes a request on; only a body counts against the limit. */
async function passOn(
  request: FastifyRequest,
  reply: FastifyReply,
  origin: NonNullable<SnapshotDeps['origin']>,
  limit: Limit
) {
  await limit.check(request, reply);
  const answered = await origin.answer(request, reply);
  if (reply.statusCode === 200) await limit.take(request, reply);
  return answered;
}

/** Returns the caller as a reader, until its answer or its connection ends. */
function readerOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { addressOf }: Pick<SnapshotDeps, 'addressOf'>
): Reader {
  const reader = new Reader(addressOf(request.raw), () => reply.raw.destroy());
  reply.raw.once('close', () => reader.leave());
  return reader;
}

async function answerHead(request: FastifyRequest, reply: FastifyReply, deps: Answering) {
  const query = readSnapshotQuery(request, isInclusive(deps.config));
  const coding = chooseCoding(request.headers['accept-encoding']);
  const artifact =
    findResumed(request, query, coding, deps) ??
    deps.artifacts.find(await describe(request, reply, query, deps), coding);
  if (artifact) return sendArtifact(artifact, request, reply, readerOf(request, reply, deps));
  return sendHead(request, reply);
}

async function sendHead(request: FastifyRequest, reply: FastifyReply) {
  const coding = chooseCoding(request.headers['accept-encoding']);
  const { dbType } = databaseOf(request);
  return varyByCoding(reply)
    .header(SNAPSHOT_HEADERS.schemaVersion, SCHEMA_VERSION[dbType])
    .headers({ 'content-encoding': coding, 'accept-ranges': 'bytes' })
    .type('application/json')
    .send();
}

/** Returns whether `since=N` includes block N. */
const isInclusive = ({ SYNC_COMPATIBLE_CLIENTS, SYNC_SINCE_INCLUSIVE }: SnapshotDeps['config']): boolean =>
  SYNC_COMPATIBLE_CLIENTS || SYNC_SINCE_INCLUSIVE;

/** Finds the file with which a download began: a range with If-Range continues it, even if there are newer blocks. */
function findResumed(
  request: FastifyRequest,
  query: SnapshotQuery,
  coding: SnapshotCoding,
  { artifacts }: Pick<Answering, 'artifacts'>
): Artifact | undefined {
  const { range, 'if-range': tag } = request.headers;
  if (range === undefined || typeof tag !== 'string') return undefined;
  const artifact = artifacts.findTagged(resourceOf({ id: databaseOf(request), query }), tag.trim());
  return artifact?.coding === coding ? artifact : undefined;
}

/** Returns the body of a 404. Both texts are exact: clients tell by them that they are at the tip. */
async function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  query: SnapshotQuery,
  { directory, fanOut, orders, checks, turns }: Answering
) {
  const id = databaseOf(request);
  const actor = readyActor(directory, id);
  await checks.take(request, reply);
  try {
    const ask = () => actor.ask('snapshot.describe', { query });
    const resource = resourceOf({ id, query });
    return await turns.take(request, resource, () => orders.find(resource, fanOut.revision(id), ask));
  } catch (caught) {
    if (hasCode(caught, 'BLOCKS_EMPTY'))
      throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' }, { cause: caught });
    if (hasCode(caught, 'BLOCKS_CAUGHT_UP'))
      throw new PlatformError(
        'BLOCKS_CAUGHT_UP',
        { reason: `No data available after block ${query.since}` },
        { cause: caught }
      );
    throw caught;
  }
}
