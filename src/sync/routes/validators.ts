import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { databaseOf, databaseParams } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { KeptLooks } from '../../service/turns/kept-looks.ts';
import { ByName } from '../../wire/by-name.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import { HeartbeatBodySchema, type Validators, ValidatorsSchema } from '../../wire/validator.ts';
import type { AppDeps } from '../http/deps.ts';

const HEARTBEATS_PER_MINUTE = 120;
const JSON_TYPE = 'application/json; charset=utf-8';

const AllValidatorsSchema = ByName(ByName(ByName(ValidatorsSchema)));
const OneDatabaseSchema = Type.Object({
  chain: Type.String(),
  network: Type.String(),
  dbType: Type.String(),
  ...ValidatorsSchema.properties
});

const HEARTBEAT_DOC: RouteDoc = {
  tag: 'Validators',
  summary: "How far a validator's replica is, for those without a WebSocket",
  statuses: [413, 415, 429]
};
const STATUS_DOC: RouteDoc = { tag: 'Validators', summary: 'The validators that were heard of lately, and their lag' };

/** `POST /validator-heartbeat/:dbType/:chain/:network` and both forms of `GET /validator-status`. */
export const validatorRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory' | 'fanOut'> & { readonly addressOf: AddressReader }
> = async (app, { directory, fanOut, addressOf }) => {
  const limit = createLimit(app, {
    name: 'validator-heartbeat',
    max: HEARTBEATS_PER_MINUTE,
    windowMs: 60_000,
    addressOf,
    perDatabase: true
  });
  /** Strangers may list ten thousand validators. */
  const looks = new KeptLooks();

  app.post(
    '/validator-heartbeat/:dbType/:chain/:network',
    {
      config: { mode: 'server', doc: HEARTBEAT_DOC },
      schema: {
        params: databaseParams(),
        body: HeartbeatBodySchema,
        response: { 200: Type.Object({ ok: Type.Boolean() }) }
      },
      preHandler: (request, reply) => limit.check(request, reply)
    },
    async (request, reply) => {
      const id = databaseOf(request);
      checkBroadcaster(id);
      await limit.take(request, reply);
      const { validator_id, applied_height, applied_block_time = null } = request.body;
      const heartbeat = { appliedHeight: applied_height, appliedBlockTime: applied_block_time };
      fanOut.validators.beat(id, validator_id, heartbeat, { address: addressOf(request.raw) });
      return { ok: true };
    }
  );

  app.get(
    '/validator-status',
    {
      config: { mode: 'server', doc: { ...STATUS_DOC, statuses: [503] } },
      schema: { response: { 200: AllValidatorsSchema } }
    },
    async (_, reply) => {
      if (!directory.discovered) throw new PlatformError('ACTOR_NOT_READY', { reason: 'the hub has not answered yet' });
      return reply.type(JSON_TYPE).send(looks.read('all', treeOfAll) as never);
    }
  );

  app.get(
    '/validator-status/:dbType/:chain/:network',
    {
      config: { mode: 'server', doc: STATUS_DOC },
      schema: { params: databaseParams(), response: { 200: OneDatabaseSchema } }
    },
    async (request, reply) => {
      const id = databaseOf(request);
      checkBroadcaster(id);
      const { chain, network, dbType } = id;
      const look = () => ({ chain, network, dbType, ...validatorsOf(id) });
      return reply.type(JSON_TYPE).send(looks.read(databaseKey(id), look) as never);
    }
  );

  function treeOfAll() {
    const tree: Record<string, Record<string, Record<string, Validators>>> = {};
    for (const id of directory.list()) {
      const { chain, network, dbType } = id;
      tree[chain] = { ...tree[chain], [network]: { ...tree[chain]?.[network], [dbType]: validatorsOf(id) } };
    }
    return tree;
  }

  function checkBroadcaster(id: DatabaseId): void {
    if (!directory.lastReport(id))
      throw new PlatformError('ACTOR_NOT_READY', { reason: 'the actor has not reported yet' });
  }

  function validatorsOf(id: DatabaseId): Validators {
    const height = directory.lastReport(id)?.height ?? null;
    const entries = fanOut.validators.list(id).map(([validatorId, { appliedHeight, appliedBlockTime, at }]) => [
      validatorId,
      {
        applied_height: appliedHeight,
        applied_block_time: appliedBlockTime,
        last_seen: new Date(at).toISOString(),
        lag_blocks: height === null ? null : Math.max(0, height - appliedHeight)
      }
    ]);
    return { validators: Object.fromEntries(entries), last_updated: new Date().toISOString() };
  }
};
