import Type from 'typebox';
import { type ErrorCode, PlatformError } from '../../errors.ts';
import type { RpcMethod } from '../../service/rpc/method.ts';

/** Failures that existing clients look for in a result: the call is right, and there is nothing to answer. */
const TOLD: ReadonlySet<ErrorCode> = new Set(['RECORD_UNKNOWN', 'PROPOSAL_REFUSED', 'SWAP_DIFFERS', 'REORG_DIFFERS']);

/** A result that says why there is none. */
export const FailureResult = Type.Object({ error: Type.String(), code: Type.Optional(Type.String()) });

/** Returns methods whose failures of these kinds are results with `error`. */
export function tellFailures(methods: Readonly<Record<string, RpcMethod>>): Readonly<Record<string, RpcMethod>> {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, withReasons(method)]));
}

function withReasons(method: RpcMethod): RpcMethod {
  const { result, errors = [], run } = method;
  if (!errors.some((code) => TOLD.has(code))) return method;
  return {
    ...method,
    result: Type.Union([result, FailureResult]),
    errors: errors.filter((code) => !TOLD.has(code)),
    async run(params, caller) {
      try {
        return await run(params, caller);
      } catch (caught) {
        if (!(caught instanceof PlatformError) || !TOLD.has(caught.code)) throw caught;
        return { error: String(caught.detail['reason']), code: caught.code };
      }
    }
  };
}
