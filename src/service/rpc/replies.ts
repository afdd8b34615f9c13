import { errorCodes, type FastifyError } from 'fastify';
import { type ErrorCode, hasCode, PlatformError } from '../../errors.ts';
import { publicFailure } from '../errors.ts';
import { RPC_CODES, type RpcCode } from './codes.ts';

/** A call's id; one beyond 2^53 is an object that is written again digit for digit. */
export type Id = string | number | object | null;

/** Machine-readable part of a failure; `code` is from the table of errors. */
interface FailureData {
  readonly code: string;
  /** Reason, for people; absent where the message says all. */
  readonly reason?: string;
  /** JSON pointer to the fault in `params`. */
  readonly at?: string;
  readonly retry_after_s?: number;
  /** Id of a transaction that may have been sent. */
  readonly txid?: string;
}

/** A failure as existing clients know it: their word in place of the reason, and amounts in satoshis. */
export interface OperationalData {
  readonly reason: string;
  readonly required?: number | string;
  readonly available?: number | string;
  readonly outputs?: number | string;
  readonly fee?: number | string;
  readonly reserved?: number | string;
}

export interface Failure {
  readonly jsonrpc: '2.0';
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data: FailureData & Partial<OperationalData>;
  };
  readonly id: Id;
}

export type Reply = { readonly jsonrpc: '2.0'; readonly result: unknown; readonly id: Id } | Failure;

/** Returns an error reply. @param data its `code` is the name of the RPC code unless it says another */
export function failure(
  id: Id,
  code: RpcCode,
  message: string,
  data: Partial<FailureData & OperationalData> = {}
): Failure {
  return { jsonrpc: '2.0', error: { code: RPC_CODES[code], message, data: { code, ...data } }, id };
}

/** Returns the reply to a call that failed: with the reason if the caller may read it, else with the table's remedy alone. */
export function failureOf(
  id: Id,
  caught: unknown,
  operational: (failure: PlatformError) => OperationalData | undefined = () => undefined
): Failure {
  if (!(caught instanceof PlatformError)) return failure(id, 'INTERNAL_ERROR', 'internal error', { code: 'INTERNAL' });
  const { code } = caught;
  const reason = publicFailure(caught);
  const known = operational(caught);
  return known
    ? failure(id, 'OPERATIONAL', reason, { code, ...known })
    : failure(id, kindOf(caught), reason, { code, reason, ...sentId(caught) });
}

const sentId = ({ code, detail: { txid } }: PlatformError) =>
  code === 'BROADCAST_UNKNOWN' && typeof txid === 'string' ? { txid } : {};

/**
 * Refusals by the chain. They are not the call's fault: the same call may succeed later. @see the section "Errors" of the
 * specification
 */
const OF_THE_CHAIN: ReadonlySet<ErrorCode> = new Set(['COINS_INSUFFICIENT', 'TRANSACTION_REJECTED']);

function kindOf({ code, status }: PlatformError): RpcCode {
  if (code === 'RATE_LIMITED' || code === 'UNAUTHORIZED') return code;
  return status < 500 && !OF_THE_CHAIN.has(code) ? 'INVALID_PARAMS' : 'INTERNAL_ERROR';
}

/** Returns the reply to a request that never became a call. */
export function refusalOf(
  caught: FastifyError | PlatformError,
  bodyLimitBytes: number
): readonly [status: number, Failure] {
  if (caught instanceof SyntaxError) return [200, failure(null, 'PARSE_ERROR', `parse error: ${caught.message}`)];
  if (hasCode(caught, 'RATE_LIMITED')) {
    const { reason, retryAfterS } = caught.detail;
    return [429, failure(null, 'RATE_LIMITED', `rate limited: ${reason}`, { retry_after_s: Number(retryAfterS) })];
  }
  if (caught instanceof PlatformError) return [caught.status, failureOf(null, caught)];
  if (caught instanceof errorCodes.FST_ERR_CTP_BODY_TOO_LARGE)
    return [413, failure(null, 'INVALID_REQUEST', `request body is larger than ${bodyLimitBytes} bytes`)];
  if (caught instanceof errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE)
    return [415, failure(null, 'INVALID_REQUEST', 'send Content-Type: application/json')];
  const status = caught.statusCode ?? 500;
  if (status < 500) return [status, failure(null, 'INVALID_REQUEST', 'invalid request')];
  return [status, failure(null, 'INTERNAL_ERROR', 'internal error', { code: 'INTERNAL' })];
}
