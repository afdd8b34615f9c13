import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { AddressReader } from '../../service/address.ts';
import { databaseOf, databaseParams } from '../../service/parameters.ts';
import type { AppDeps } from '../http/deps.ts';

const AnswerSchema = Type.Object({
  ok: Type.Literal(true),
  cleared: Type.Optional(Type.Literal(true)),
  /** The halt as it was recorded. */
  was: Type.Optional(Type.Unknown()),
  note: Type.Optional(Type.String()),
  halted: Type.Optional(Type.Literal(false)),
  message: Type.Optional(Type.String())
});

/** `POST /halt/clear/:dbType/:chain/:network`: an operator's word that a halted replica may go on. */
export const haltRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'control'> & { readonly addressOf: AddressReader }
> = async (app, { control, addressOf }) => {
  const config = {
    mode: 'client',
    operator: true,
    doc: {
      tag: 'Operator',
      summary: 'Lets a halted replica go on',
      description: 'Needs the SYNC_OPERATOR_KEY; where that is not set, the SYNC_API_KEY.'
    }
  } as const;
  app.post(
    '/halt/clear/:dbType/:chain/:network',
    { config, schema: { params: databaseParams(), response: { 200: AnswerSchema } } },
    async (request) => {
      const id = databaseOf(request);
      const { was } = await control.clearHalt(id);
      if (was === null) return { ok: true as const, halted: false as const, message: 'the replica was not halted' };
      request.log.warn({ database: id, was, from: addressOf(request.raw) }, 'halt cleared by an operator');
      return { ok: true as const, cleared: true as const, was, note: 'restart the service for a clean catch-up' };
    }
  );
};
