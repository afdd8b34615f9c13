import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { signClaim } from '../../consensus/source-signature.ts';
import { PlatformError } from '../../errors.ts';
import { databaseOf, databaseParams } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { KeptLooks } from '../../service/turns/kept-looks.ts';
import { type DatabaseId, databaseKey, unknownHashes } from '../../wire/data/database.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { remedyOf } from '../../wire/state/halts.ts';
import type { ComparingReport, DatabaseReport, SettlingReport } from '../../wire/state/report.ts';
import {
  type DatabaseStatus,
  IdentifiedSchema,
  SingleStatusSchema,
  StatusTreeSchema
} from '../../wire/state/status.ts';
import type { AppDeps } from '../http/deps.ts';
import { IndexMaps } from '../http/index-maps.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const DOC: RouteDoc = { tag: 'State', summary: 'Where each database stands relative to its source' };

type StatusDeps = Pick<AppDeps, 'config' | 'directory' | 'fanOut' | 'sourceKey' | 'origin'>;

const Query = Type.Object({
  challenge: Type.Optional(
    Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hex digits; the server signs them' })
  )
});

/** `GET /status`, all databases nested chain, network, dbType, and `GET /status/:dbType/:chain/:network`. */
export const statusRoutes: FastifyPluginAsyncTypebox<StatusDeps> = async (app, deps) => {
  const indexMaps = new IndexMaps(deps.directory);
  /** Kept looks: there may be ten thousand subscribers, and everybody may ask. */
  const looks = new KeptLooks();

  const treeOfAll = () => {
    const tree: Record<string, Record<string, Record<string, DatabaseStatus>>> = {};
    for (const id of deps.directory.list()) {
      tree[id.chain] = { ...tree[id.chain] };
      const status = { ...describe(id, deps), ...subscribersOf(id, deps) };
      tree[id.chain]![id.network] = { ...tree[id.chain]?.[id.network], [id.dbType]: status };
    }
    return { ...tree, last_updated: new Date().toISOString() };
  };
  app.get('/status', { config: { doc: DOC }, schema: { response: { 200: StatusTreeSchema } } }, async (_, reply) => {
    const json = looks.read('all', treeOfAll, (tree) => String(reply.serialize(tree)));
    return reply.type(JSON_TYPE).send(json as never);
  });

  app.get(
    '/status/:dbType/:chain/:network',
    {
      config: { doc: DOC },
      schema: { params: databaseParams(), querystring: Query, response: { 200: SingleStatusSchema } }
    },
    async (request, reply) => {
      const id = databaseOf(request);
      if (!deps.directory.lastReport(id))
        throw new PlatformError('ACTOR_NOT_READY', { reason: 'the actor has not reported yet' });
      const ownMap = deps.config.SYNC_MODE === 'server' ? { index_map: indexMaps.of(id) } : {};
      const { challenge } = request.query;
      const identity = challenge === undefined ? {} : await identify(id, challenge, deps);
      const status = { ...id, ...describe(id, deps), ...ownMap, ...identity, last_updated: new Date().toISOString() };
      if (deps.config.SYNC_MODE !== 'server') return status;
      // Replicas rely on all else, which is of this moment.
      const subscribers = looks.read(databaseKey(id), () => subscribersOf(id, deps));
      const parts = [
        Buffer.from(String(reply.serialize(status)).slice(0, -1)),
        Buffer.from(','),
        subscribers.subarray(1)
      ];
      return reply.type(JSON_TYPE).send(Buffer.concat(parts) as never);
    }
  );
};

const isIdentified = shapeOf(IdentifiedSchema);

async function identify(id: DatabaseId, challenge: string, { directory, sourceKey, origin: other }: StatusDeps) {
  const passedOn = { identity: await other?.identify(id, challenge) };
  if (other) return isIdentified.Check(passedOn) ? passedOn : {};
  const origin = directory.lastReport(id)?.origin;
  // Which database is read is known from its first reading on.
  if (sourceKey === null || origin === undefined) return {};
  const sig = signClaim({ database: databaseKey(id), challenge, origin }, sourceKey);
  return { identity: { pubkey: sourceKey.pubkey, origin, sig } };
}

/** Returns the subscribers of a server's database as `/status` tells of them. */
function subscribersOf(id: DatabaseId, { config, fanOut }: StatusDeps): Pick<DatabaseStatus, 'subscribers'> {
  if (config.SYNC_MODE !== 'server') return {};
  const subscribers = fanOut.subscribers(id).map(({ id: name, lastSentBlock, appliedBlock, lag, nearLimit }) => ({
    id: name,
    lastSentBlock,
    appliedBlock,
    lag,
    ...(nearLimit && { nearLimit })
  }));
  return { subscribers };
}

/** Returns all of a status but the subscribers. */
function describe(id: DatabaseId, { config, directory }: StatusDeps): DatabaseStatus {
  const report = directory.lastReport(id);
  const common = {
    block_height: report?.height != null && report.height >= 0 ? report.height : null, // -1: a source without a block
    block_time: report?.blockTime ?? null,
    ...(report?.hashes ?? unknownHashes(id.dbType)),
    lag_blocks: directory.isUp(id) ? (report?.lagBlocks ?? null) : null,
    poll_error_count: report?.pollErrorCount ?? 0,
    database_silent_s: report?.databaseSilentS ?? 0,
    phase: report?.phase ?? null,
    waiting: directory.waitsFor(id),
    ...(report?.stateCommitment ? { state_commitment: report.stateCommitment } : {}),
    ...(report?.notReplicated ? { not_replicated: { ...report.notReplicated } } : {})
  };
  if (config.SYNC_MODE === 'server') {
    const { sweep, binlog, settling, settledHeight = null, amendments = null, lastError = null } = report ?? {};
    const look = settling ? { ...withoutTime(settling), since_ms: settling.sinceMs } : null;
    const finding = {
      settled_height: settledHeight,
      amendments,
      settling: look,
      ...(sweep && { sweep }),
      ...(binlog && { binlog })
    };
    return { ...common, last_error: lastError, ...finding };
  }
  const { percent = null, halt = null, verification = null, verifiedHeight = null } = report?.replica ?? {};
  return {
    ...common,
    source_silent_s: report?.replica?.sourceSilentS ?? 0,
    percent,
    rows_per_second: report?.replica?.rowsPerSecond ?? null,
    eta_seconds: report?.replica?.etaSeconds ?? null,
    last_error: report?.lastError ?? null,
    halted: halt !== null,
    reason: halt?.reason ?? null,
    remedy: halt && remedyOf(halt),
    settled_height: report?.settledHeight ?? null,
    settling: report?.replica?.settling ?? false,
    verification,
    verification_reason: report?.replica?.verificationReason ?? null,
    comparing: comparingOf(report?.replica?.comparing),
    unconfirmed: [...(report?.replica?.unconfirmed ?? [])],
    verified_height: verifiedHeight,
    verified_at: report?.replica?.verifiedAt ?? null,
    repairs: report?.replica?.repairs ?? 0,
    ids: { ...report?.replica?.ids },
    ...(id.dbType === 'decoder' ? { dispensers: asOf(report?.replica?.dispensers) } : {}),
    floor: report?.replica?.floor ?? null,
    sync_mode: report?.replica?.infraOnly ? 'infra-only' : 'full',
    checkpoint_height: report?.replica?.checkpointHeight ?? null,
    index_map_mismatches: report?.replica?.indexMapMismatches ?? null,
    sources: [...(report?.replica?.sources ?? [])]
  };
}

function withoutTime({ sinceMs: _, ...look }: SettlingReport): Omit<SettlingReport, 'sinceMs'> {
  return look;
}

function comparingOf(report: ComparingReport | null | undefined): NonNullable<DatabaseStatus['comparing']> | null {
  return report ? { height: report.height, percent: report.percent, since_ms: report.sinceMs } : null;
}

type AsOf = NonNullable<DatabaseReport['replica']>['dispensers'];

function asOf(dispensers: AsOf | undefined): NonNullable<DatabaseStatus['dispensers']> | null {
  return dispensers ? { block_height: dispensers.height, as_of: dispensers.at } : null;
}
