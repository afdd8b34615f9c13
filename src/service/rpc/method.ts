import Type, { type Static, type TObject, type TSchema } from 'typebox';
import type { ErrorCode, PlatformError } from '../../errors.ts';
import type { Cost } from '../ingress/work-budget.ts';
import type { Aside } from '../turns/turns.ts';
import type { JsonResult } from './json-result.ts';
import type { KeptResult } from './kept-result.ts';
import type { OperationalData } from './replies.ts';
import type { StreamedResult } from './streamed-result.ts';

/** Caller of a method. */
export interface RpcCaller {
  /** Address under which its requests and their cost are counted. */
  readonly address: string;
  /** Whether it sent the service's key; true where none is set. */
  readonly hasKey: boolean;
  /** Whether it is a program of this machine. @see isLocalRequest */
  readonly isLocal: boolean;
  /** Counts rows that were read for it, beside the bytes and the time that every answer costs. */
  charge(cost: Cost): void;
  /** Notes the call in the audit log; fulfilled when that is durable. */
  readonly audit: (operation: string, target: string, outcome: string) => Promise<void>;
  /** Waits for another program without the turn of its call. */
  readonly aside: Aside;
}

/** One row of a service's method table, which is also its documentation. */
export interface RpcMethod {
  /** One sentence without a full stop. */
  readonly summary: string;
  /** The schemas of `params`, by name; a method without them ignores any params. */
  readonly params?: TObject;
  /** Schema of the result. */
  readonly result: TSchema;
  /** Whether it changes something. */
  readonly write: boolean;
  /** Whether the service's key is needed where it has one; default: for writes. `remote`: of callers on other machines. */
  readonly needsKey?: boolean | 'remote';
  /** Returns the object of a call, without secrets, for the audit log; absent: that keeps none of its calls. */
  audited?(params: unknown): string;
  /** Whether it is answered at once, whatever other calls wait for: it says how the service is. */
  readonly isProbe?: boolean;
  /** Codes of its refusals, beside those that every method has. */
  readonly errors?: readonly ErrorCode[];
  /** Returns the fields that existing clients read of a failure that they know as -32010; undefined for others. */
  readonly operational?: (failure: PlatformError) => OperationalData | undefined;
  /**
   * @returns the result, or a `KeptResult` (the same bytes for many), `JsonResult`, `StreamedResult` (long), `RpcAnswer` (not HTTP 200)
   * @throws {PlatformError} below 500 it becomes -32602, all else -32603; what the caller reads of it is `publicFailure`
   */
  run(params: unknown, caller: RpcCaller): unknown;
}

/** Returns a method whose `run` is typed by its schemas. */
export function rpcMethod<R extends TSchema, P extends TObject = TObject>(
  method: Omit<RpcMethod, 'params' | 'result' | 'audited' | 'run'> & {
    readonly params?: P;
    readonly result: R;
    audited?(params: Static<P>): string;
    run(params: Static<P>, caller: RpcCaller): Answer<Static<R>> | Promise<Answer<Static<R>>>;
  }
): RpcMethod {
  return method;
}

/** Returns whether the service's key is needed for some callers, or for this one. @see RpcMethod.needsKey */
export function needsKey({ needsKey, write }: RpcMethod, caller?: Pick<RpcCaller, 'isLocal'>): boolean {
  const needed = needsKey ?? write;
  return needed === 'remote' ? !caller?.isLocal : needed;
}

type Answer<T> = T | RpcAnswer<T> | KeptResult<T> | JsonResult<T> | StreamedResult<T>;

/** A result with an HTTP status of its own; the status counts for single calls only, a batch answers 200. */
export class RpcAnswer<T = unknown> {
  readonly status: number;
  readonly result: T;

  constructor(status: number, result: T) {
    this.status = status;
    this.result = result;
  }
}

/** `ping`, of the services that answer it so. */
export const pingMethod: RpcMethod = rpcMethod({
  summary: 'Whether the service answers',
  result: Type.Object({ status: Type.Literal('success') }),
  write: false,
  run: () => ({ status: 'success' as const })
});
