import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { ReasonSchema } from '../../service/audit/audit-routes.ts';
import type { AddressReader } from '../../service/callers/address.ts';
import { NEEDS_OPERATOR } from '../../service/routes/debug.ts';
import { databaseOf, databaseParams } from '../../service/schema/parameters.ts';
import { DatabaseIdSchema, databaseKey } from '../../wire/data/database.ts';
import type { AppDeps } from '../http/deps.ts';

const ClearedSchema = Type.Object({
  ok: Type.Literal(true),
  cleared: Type.Optional(Type.Literal(true)),
  /** The halt as it was recorded. */
  was: Type.Optional(Type.Unknown()),
  note: Type.Optional(Type.String()),
  halted: Type.Optional(Type.Literal(false)),
  message: Type.Optional(Type.String())
});
const VerifySchema = Type.Object({ ok: Type.Boolean(), action: Type.String(), ...DatabaseIdSchema.properties });

const ofOperator = (summary: string) =>
  ({
    mode: 'client',
    operator: true,
    doc: { tag: 'Operator', summary, description: NEEDS_OPERATOR }
  }) as const;

/** `POST /halt/clear/…` and `POST /debug/actors/…/verify` of a database: an operator's acts on a replica. */
export const operatorRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'control'> & { readonly addressOf: AddressReader }
> = async (app, { control, addressOf }) => {
  app.post(
    '/halt/clear/:dbType/:chain/:network',
    {
      config: ofOperator('Lets a halted replica go on'),
      schema: { params: databaseParams(), querystring: ReasonSchema, response: { 200: ClearedSchema } }
    },
    async (request) => {
      const id = databaseOf(request);
      const { was } = await control.clearHalt(id);
      if (was === null) return { ok: true as const, halted: false as const, message: 'the replica was not halted' };
      request.log.warn({ database: databaseKey(id), was, from: addressOf(request.raw) }, 'halt cleared by an operator');
      return { ok: true as const, cleared: true as const, was, note: 'restart the service for a clean catch-up' };
    }
  );
  app.post(
    '/debug/actors/:dbType/:chain/:network/verify',
    {
      config: ofOperator('Compares a replica with its source as soon as it is at rest'),
      schema: { params: databaseParams(), querystring: ReasonSchema, response: { 202: VerifySchema } }
    },
    async (request, reply) => {
      const id = databaseOf(request);
      request.log.warn(
        { database: databaseKey(id), from: addressOf(request.raw) },
        'an operator asked for: verify replica'
      );
      await control.verify(id);
      return reply.code(202).send({ ok: true, action: 'verify', ...id });
    }
  );
};
