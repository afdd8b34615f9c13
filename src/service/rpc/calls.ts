import type { FastifyBaseLogger } from 'fastify';
import type { TObject } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { PlatformError } from '../../errors.ts';
import { SparseLines } from '../../sparse-lines.ts';
import { isExactNumber } from './exact-body.ts';
import { JsonResult } from './json-result.ts';
import { KeptResult } from './kept-result.ts';
import { needsKey, RpcAnswer, type RpcCaller, type RpcMethod } from './method.ts';
import { readPlainly, takesNull } from './plain-values.ts';
import { failure, failureOf, type Id, type Reply } from './replies.ts';
import { type Piece, StreamedResult } from './streamed-result.ts';

interface Row extends RpcMethod {
  readonly validator: Validator | undefined;
  /** Parameters of which null is a value. */
  readonly nullable: ReadonlySet<string>;
}

/** Result of one call: no reply for a notification. */
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
        { ...method, validator: method.params && Compile(method.params), nullable: nullableParams(method.params) }
      ])
    );
  }

  /** Returns whether the call is one of a method for which this caller needs the service's key. */
  needsKey(call: unknown, caller: Pick<RpcCaller, 'isLocal'>): boolean {
    const method = this.#find(call);
    return method !== undefined && needsKey(method, caller);
  }

  /** Returns whether the call changes something. */
  isWrite(call: unknown): boolean {
    return this.#find(call)?.write === true;
  }

  /** Returns whether the call is answered at once. */
  isProbe(call: unknown): boolean {
    return this.#find(call)?.isProbe === true;
  }

  /** Carries out one call. Never throws. */
  async answer(call: unknown, caller: RpcCaller, log: FastifyBaseLogger): Promise<Outcome> {
    const id = idOf(call);
    if (!isCall(call))
      return { status: 200, reply: failure(id, 'INVALID_REQUEST', 'not a JSON-RPC 2.0 request object') };
    const outcome = await run(this.#find(call), call, id, caller, log);
    return 'id' in call ? outcome : { ...outcome, reply: undefined };
  }

  #find(call: unknown): Row | undefined {
    return isCall(call) ? this.#rows.get(call.method.toLowerCase()) : undefined;
  }
}

async function run(
  method: Row | undefined,
  call: Call,
  id: Id,
  caller: RpcCaller,
  log: FastifyBaseLogger
): Promise<Outcome> {
  if (!method)
    return { status: 200, reply: failure(id, 'METHOD_NOT_FOUND', `method not found: ${call.method.slice(0, 64)}`) };
  const given = isAbsent(call.params) || isEmptyArray(call.params) ? {} : call.params;
  const written = isObject(given) ? withoutNulls(given, method.nullable) : given;
  const isValid = (value: unknown) => method.validator?.Check(value) !== false;
  const params = isValid(written) ? written : readPlainly(written, method.params);
  const faults = isValid(params) ? [] : method.validator!.Errors(params);
  const [fault] = faults;
  if (fault) {
    const at = fault.instancePath.slice(0, 200);
    const reason = reasonOf(fault, faults, method.params);
    const data = { code: 'REQUEST_INVALID', reason, at };
    return { status: 200, reply: failure(id, 'INVALID_PARAMS', `params${at} ${reason}`, data) };
  }
  const note = async (outcome: string) => {
    if (method.audited) await caller.audit(call.method, method.audited(params), outcome);
  };
  try {
    const returned = await method.run(params, caller);
    await note('done');
    const { status, result } = returned instanceof RpcAnswer ? returned : { status: 200, result: returned };
    return { status, reply: { jsonrpc: '2.0', result: result ?? null, id } };
  } catch (caught) {
    await note(`refused: ${PlatformError.from(caught).code}`);
    tellFailure(log, call.method, caught);
    return { status: method.isProbe ? 503 : 200, reply: failureOf(id, caught, method.operational) };
  }
}

const failures = new SparseLines();

/** Logs what is no caller's fault: each cause once in a while, since callers choose how often they ask. */
function tellFailure(log: FastifyBaseLogger, method: string, caught: unknown): void {
  if (caught instanceof PlatformError && caught.status < 500) return;
  const more = failures.take(caught instanceof PlatformError ? `${method} ${caught.code}` : `${method} ${caught}`);
  if (more !== null) log.error({ err: caught, method, more }, `${method} failed`);
}

function nullableParams({ properties = {} }: Partial<TObject> = {}): ReadonlySet<string> {
  return new Set(Object.keys(properties).filter((name) => takesNull(properties[name]!)));
}

/** Leaves out what is null: many clients send that for what they do not use. @param nullable names whose null is a value */
function withoutNulls(params: Record<string, unknown>, nullable: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).filter(([name, value]) => value !== null || nullable.has(name)));
}

/**
 * Returns the reason of a schema fault: the words that are allowed, and what a value of several types stands for.
 *
 * @param faults all of the value, of which it is the first
 */
function reasonOf(
  fault: TLocalizedValidationError,
  faults: readonly TLocalizedValidationError[],
  schema: TObject | undefined
): string {
  if (fault.keyword === 'boolean') return 'is unknown here: correct its name or leave it out';
  if (fault.keyword === 'enum') return `must be one of ${fault.params.allowedValues.join(', ')}`;
  const [parent, choice] = fault.schemaPath.split('/anyOf/');
  if (choice === undefined) return fault.message;
  const words = faults.flatMap((other) => {
    const isWord = other.keyword === 'const' && other.schemaPath.startsWith(`${parent}/anyOf/`);
    return isWord ? [String(other.params.allowedValue)] : [];
  });
  if (fault.keyword === 'const') return `must be one of ${words.join(', ')}`;
  const described = schema && schemaAt(schema, parent!).description;
  return typeof described === 'string' ? `${fault.message}: ${described}` : fault.message;
}

/** Returns the part of a schema that a path such as `#/properties/fee` names; an empty one where there is none. */
function schemaAt(schema: object, path: string): Readonly<Record<string, unknown>> {
  const steps = path.split('/').slice(1);
  const found = steps.reduce<unknown>((part, step) => (isObject(part) ? part[step] : undefined), schema);
  return isObject(found) ? found : {};
}

/** Does a part of the work when it is the turn of its caller. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Yields a reply as pieces of JSON, each made in a turn of its caller when those before it are taken. */
export async function* piecesOf(reply: Reply, inTurn: InTurn): AsyncGenerator<Piece> {
  if (!('result' in reply)) return yield JSON.stringify(reply);
  const { result, id } = reply;
  const isMade = result instanceof KeptResult || result instanceof JsonResult;
  if (!isMade && !(result instanceof StreamedResult)) return yield JSON.stringify(reply);
  yield '{"jsonrpc":"2.0","result":';
  if (isMade) yield result.json;
  else yield* partsOf(result.pieces(), inTurn);
  yield `,"id":${JSON.stringify(id)}}`;
}

/** Yields the parts of a long answer, each made in a turn of its caller. */
export async function* partsOf(parts: AsyncIterable<Piece>, inTurn: InTurn): AsyncGenerator<Piece> {
  const making = parts[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await inTurn(() => making.next());
      if (done) return;
      yield value;
    }
  } finally {
    await making.return?.(undefined);
  }
}

/** Returns the id that a reply to the call carries; null where it has none that can be read. */
export function idOf(call: unknown): Id {
  return isObject(call) && isId(call['id']) ? call['id'] : null;
}

function isCall(call: unknown): call is Call {
  if (!isObject(call) || call['jsonrpc'] !== '2.0' || typeof call['method'] !== 'string') return false;
  return (isAbsent(call['params']) || isStructured(call['params'])) && (!('id' in call) || isId(call['id']));
}

/** Returns whether a call is answered: one without an id is a notification. */
export const hasReply = (call: unknown): boolean => !isCall(call) || 'id' in call;

/** Every reply repeats it. */
const MOST_ID_LETTERS = 1_024;

function isId(value: unknown): value is Id {
  if (value === null) return true;
  if (typeof value === 'number') return Number.isFinite(value); // 1e400 would come back as null, which is nobody's
  return (typeof value === 'string' || isExactNumber(value)) && JSON.stringify(value).length <= MOST_ID_LETTERS;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  isStructured(value) && !Array.isArray(value) && !isExactNumber(value);
const isStructured = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;
const isEmptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;
