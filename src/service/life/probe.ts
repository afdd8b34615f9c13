import { PlatformError } from '../../errors.ts';

/** Address of a running service. */
export interface ProbeAddress {
  /** Base URL, no trailing slash. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Patience with each request. */
  readonly timeoutMs?: number;
}

/** An actor may take ten seconds to stop. */
const ORDER_TIMEOUT_MS = 20_000;

/** A JSON object of unknown shape. */
export type Json = Readonly<Record<string, unknown>>;

/** Asks `GET /livez`. @throws {PlatformError} SERVICE_UNREACHABLE */
export async function checkAlive(address: ProbeAddress): Promise<void> {
  const { status } = await fetchFrom(address, '/livez', (response) => response.text());
  if (status !== 200)
    throw new PlatformError('SERVICE_UNREACHABLE', { reason: `${address.url}/livez answered ${status}` });
}

/** One part of the way of blocks, as the service that knows it tells. */
interface ProbedPart {
  readonly role: string;
  readonly name: string;
  readonly state: string;
  readonly doing: string;
  readonly height: number | null;
  /** Reason why it is not well. */
  readonly reason: string | null;
}

/** A service's answer about itself. */
export interface ServiceProbe {
  readonly service: string;
  readonly version: string;
  /** The word of `GET /readyz`. */
  readonly readiness: string;
  readonly parts: readonly ProbedPart[];
}

/** Asks a running service for its state. @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED */
export async function probeService(address: ProbeAddress): Promise<ServiceProbe> {
  const live = await ask(address, '/debug/live', [200]);
  return {
    service: String(live['service']),
    version: String(live['version']),
    readiness: String(live['readiness']),
    parts: objects(object(live['pipeline'])['nodes']).map((node) => ({
      role: String(node['role']),
      name: String(node['name']),
      state: String(node['state']),
      doing: String(node['doing']),
      height: numberOf(node['height']),
      reason: textOf(node['reason'])
    }))
  };
}

/** @param accepted statuses whose body is an answer @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED */
export async function ask(address: ProbeAddress, path: string, accepted: readonly number[]): Promise<Json> {
  const { status, body } = await fetchFrom(address, path, (response) => response.json());
  return answerOf(address.url + path, status, body, accepted);
}

/** Orders what needs an operator's key. @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED */
export async function order(address: ProbeAddress, path: string): Promise<Json> {
  const patient = { ...address, timeoutMs: address.timeoutMs ?? ORDER_TIMEOUT_MS };
  const { status, body } = await fetchFrom(patient, path, (response) => response.json(), 'POST');
  return answerOf(address.url + path, status, body, [200, 202]);
}

function answerOf(place: string, status: number, body: unknown, accepted: readonly number[]): Json {
  if (accepted.includes(status)) return object(body);
  const detail = { reason: `${place} answered ${status}: ${String(object(body)['error'] ?? '')}` };
  throw new PlatformError(status === 401 ? 'UNAUTHORIZED' : 'SOURCE_REFUSED', detail);
}

async function fetchFrom(
  { url, apiKey, timeoutMs = 5_000 }: ProbeAddress,
  path: string,
  read: (response: Response) => Promise<unknown>,
  method: 'GET' | 'POST' = 'GET'
): Promise<{ readonly status: number; readonly body: unknown }> {
  const request = {
    method,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs)
  } as const;
  try {
    const response = await fetch(url + path, request);
    return { status: response.status, body: await read(response) };
  } catch (caught) {
    const cause = (caught as Error).cause;
    const reason = `no answer from ${url}${path}: ${((cause ?? caught) as Error).message || String(caught)}`;
    throw new PlatformError('SERVICE_UNREACHABLE', { reason }, { cause: caught });
  }
}

/** Returns the value if it is an object, otherwise an empty one. */
export function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** Returns the items of the value as objects if it is a list, otherwise none. */
export function objects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}

/** Returns a text; null for anything else. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Returns a number; null for anything else. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
