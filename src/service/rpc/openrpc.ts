import Type, { type Static, type TObject } from 'typebox';
import { ERRORS, type ErrorCode } from '../../errors.ts';
import type { JsonSchema } from '../schema/openapi.ts';
import { RPC_CODES, type RpcCode } from './codes.ts';
import { needsKey, type RpcMethod } from './method.ts';

const Described = Type.Object(
  { name: Type.String(), required: Type.Optional(Type.Boolean()), schema: Type.Unsafe<JsonSchema>({ type: 'object' }) },
  { additionalProperties: false }
);
const Fault = Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) });

/** The document, as far as a service uses the standard. @see https://spec.open-rpc.org, version 1.3.2 */
export const OpenRpcSchema = Type.Object({
  openrpc: Type.Literal('1.3.2'),
  info: Type.Object({ title: Type.String(), version: Type.String(), description: Type.String() }),
  servers: Type.Array(Type.Object({ name: Type.String(), url: Type.String() })),
  methods: Type.Array(
    Type.Object({
      name: Type.String(),
      summary: Type.String(),
      tags: Type.Array(Type.Object({ name: Type.String() })),
      paramStructure: Type.Literal('by-name'),
      params: Type.Array(Described),
      result: Described,
      errors: Type.Array(Fault)
    })
  )
});
export type OpenRpc = Static<typeof OpenRpcSchema>;

/** Errors that every method may return, beside its own refusals. */
const EVERY_METHOD: readonly [RpcCode, string][] = [
  ['INVALID_PARAMS', 'params are wrong; data.at says where'],
  ['INTERNAL_ERROR', 'the service failed; data.reason says why where it may'],
  ['RATE_LIMITED', 'rate limited; data.retry_after_s says for how long']
];

/** Returns the description of a service's methods, from the schemas that check their calls. */
export function describeMethods(methods: Readonly<Record<string, RpcMethod>>, info: OpenRpc['info']): OpenRpc {
  return {
    openrpc: '1.3.2',
    info,
    servers: [{ name: 'this service', url: '/' }],
    methods: Object.entries(methods).map(([name, method]) => ({
      name,
      summary: method.summary,
      tags: [{ name: method.write ? 'write' : 'read' }],
      paramStructure: 'by-name',
      params: Object.entries(method.params?.properties ?? {}).map(([param, schema]) => ({
        name: param,
        required: requiredOf(method.params).includes(param),
        schema: schema as unknown as JsonSchema
      })),
      result: { name: 'result', schema: method.result as unknown as JsonSchema },
      errors: [
        ...EVERY_METHOD.map(([code, message]) => fault(code, message)),
        ...(needsKey(method) ? [fault('UNAUTHORIZED', 'the key is missing or wrong')] : []),
        ...(method.errors ?? []).map(ownFault)
      ]
    }))
  };
}

const requiredOf = (params: TObject | undefined): readonly string[] => params?.required ?? [];
const fault = (code: RpcCode, message: string) => ({ code: RPC_CODES[code], message });

/** @see failureOf for the message and data that go with it */
const ownFault = (code: ErrorCode) => ({
  code: RPC_CODES.INTERNAL_ERROR,
  message: ERRORS[code].hint,
  data: { code }
});
