import type { FastifyBaseLogger } from 'fastify';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { PlatformError } from '../../errors.ts';
import { isExactNumber } from './exact-body.ts';
import { needsKey, RpcAnswer, type RpcMethod } from './method.ts';
import { failure, failureOf, type Id, type Reply } from './replies.ts';

interface Row extends RpcMethod {
  readonly validator: Validator | undefined;
}

/** What came of one call: nothing to say for a notification. */
export interface Outcome {
  readonly status: number;
  readonly reply: Reply | undefined;
}

interface Call {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: unknown;
  readonly id?: Id;
}

/** A service's methods, as calls find them: names are compared in lower case. */
export class MethodTable {
  readonly #rows: ReadonlyMap<string, Row>;

  constructor(methods: Readonly<Record<string, RpcMethod>>) {
    this.#rows = new Map(
      Object.entries(methods).map(([name, method]) => [
        name.toLowerCase(),
        { ...method, validator: method.params && Compile(method.params) }
      ])
    );
  }

  /** Whether the call is one of a method for which the service's key is needed. */
  needsKey(call: unknown): boolean {
    const method = this.#find(call);
    return method !== undefined && needsKey(method);
  }

  /** Carries out one call. Never throws. */
  async answer(call: unknown, log: FastifyBaseLogger): Promise<Outcome> {
    const id = idOf(call);
    if (!isCall(call))
      return { status: 200, reply: failure(id, 'INVALID_REQUEST', 'not a JSON-RPC 2.0 request object') };
    const outcome = await run(this.#find(call), call, id, log);
    return 'id' in call ? outcome : { ...outcome, reply: undefined };
  }

  #find(call: unknown): Row | undefined {
    return isCall(call) ? this.#rows.get(call.method.toLowerCase()) : undefined;
  }
}

async function run(method: Row | undefined, call: Call, id: Id, log: FastifyBaseLogger): Promise<Outcome> {
  if (!method)
    return { status: 200, reply: failure(id, 'METHOD_NOT_FOUND', `method not found: ${call.method.slice(0, 64)}`) };
  const params = call.params === undefined || isEmptyArray(call.params) ? {} : call.params;
  const [fault] = method.validator?.Check(params) === false ? method.validator.Errors(params) : [];
  if (fault) {
    const at = fault.instancePath.slice(0, 200);
    const reason = reasonOf(fault);
    const data = { code: 'REQUEST_INVALID', reason, at };
    return { status: 200, reply: failure(id, 'INVALID_PARAMS', `params${at} ${reason}`, data) };
  }
  try {
    const returned = await method.run(params);
    const { status, result } = returned instanceof RpcAnswer ? returned : { status: 200, result: returned };
    return { status, reply: { jsonrpc: '2.0', result: result ?? null, id } };
  } catch (caught) {
    const isOurs = !(caught instanceof PlatformError) || caught.status >= 500;
    if (isOurs) log.error({ err: caught, method: call.method }, `${call.method} failed`);
    return { status: 200, reply: failureOf(id, caught) };
  }
}

/** What is wrong at the place that the fault names. */
function reasonOf(fault: TLocalizedValidationError): string {
  if (fault.keyword === 'boolean') return 'is unknown here: correct its name or leave it out';
  return fault.keyword === 'enum' ? `must be one of ${fault.params.allowedValues.join(', ')}` : fault.message;
}

/** The id that a reply to the call carries; null where it has none that can be read. */
export function idOf(call: unknown): Id {
  return isObject(call) && isId(call['id']) ? call['id'] : null;
}

function isCall(call: unknown): call is Call {
  if (!isObject(call) || call['jsonrpc'] !== '2.0' || typeof call['method'] !== 'string') return false;
  return (call['params'] === undefined || isStructured(call['params'])) && (!('id' in call) || isId(call['id']));
}

function isId(value: unknown): value is Id {
  return value === null || typeof value === 'string' || typeof value === 'number' || isExactNumber(value);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  isStructured(value) && !Array.isArray(value) && !isExactNumber(value);
const isStructured = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isEmptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;
