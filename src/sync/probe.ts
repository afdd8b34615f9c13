import { PlatformError } from '../errors.ts';

/** One database of a running sync service, as its routes show it. */
export interface ProbedDatabase {
  /** `indexer/litecoin/regtest` */
  readonly name: string;
  readonly circuit: string | null;
  readonly height: number | null;
  readonly lagBlocks: number | null;
  /** A replica's word on its last comparison with its source; null where there is none. */
  readonly verification: string | null;
  /** State of its actor and of its machines; empty where the service shows none. */
  readonly state: string;
  /** Why it is halted, or its actor down; null while neither is so. */
  readonly halt: string | null;
  /** What ends a durable halt; null where there is none. */
  readonly remedy: string | null;
  readonly restarts: number | null;
}

/** What a sync service says of itself. */
export interface SyncProbe {
  readonly status: string;
  readonly mode: string;
  readonly databases: readonly ProbedDatabase[];
}

export interface SyncAddress {
  /** Base URL, no trailing slash. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Patience with each request. */
  readonly timeoutMs?: number;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Asks a running sync service how it is: `/health`, `/status` of each database and, where allowed, `/debug/actors`.
 *
 * @throws {PlatformError} SOURCE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED
 */
export async function probeSync(address: SyncAddress): Promise<SyncProbe> {
  const health = await ask(address, '/health', [200, 503]);
  const actors = await askActors(address);
  const databases = objects(health['databases']).map(async (entry) => {
    const name = [entry['dbType'], entry['chain'], entry['network']].map(String).join('/');
    const status = await ask(address, `/status/${name}`, [200, 404, 503]);
    return describeDatabase(name, entry, status, actors.get(name));
  });
  return {
    status: String(health['status']),
    mode: String(health['mode']),
    databases: (await Promise.all(databases)).sort((a, b) => a.name.localeCompare(b.name))
  };
}

/** Asks `GET /livez`. @throws {PlatformError} SOURCE_UNREACHABLE */
export async function checkAlive(address: SyncAddress): Promise<void> {
  const { status } = await fetchFrom(address, '/livez', (response) => response.text());
  if (status !== 200)
    throw new PlatformError('SOURCE_UNREACHABLE', { reason: `${address.url}/livez answered ${status}` });
}

function describeDatabase(name: string, health: Json, status: Json, actor: Json | undefined): ProbedDatabase {
  const machines = Object.entries(object(actor?.['machines'])).map(
    ([machine, view]) => `${machine}:${object(view)['state']}`
  );
  const phase = textOf(status['phase']);
  return {
    name,
    circuit: textOf(health['circuit']),
    height: numberOf(status['block_height']),
    lagBlocks: numberOf(status['lag_blocks']),
    verification: textOf(status['verification']),
    state: [textOf(actor?.['state']), phase ?? machines.join(' ')].filter(Boolean).join(' '),
    halt: haltOf(status, actor),
    remedy: textOf(status['remedy']),
    restarts: numberOf(object(actor?.['restarts'])['total'])
  };
}

/** A replica's durable halt, or the error that its actor is down with, also while it is started once more. */
function haltOf(status: Json, actor: Json | undefined): string | null {
  if (status['halted'] === true) return textOf(status['reason']) ?? 'no reason given';
  const state = textOf(actor?.['state']);
  if (state === null || state === 'running') return null;
  const lastDeath = objects(object(actor?.['restarts'])['causes']).at(-1);
  const reason = textOf(object(actor?.['reason'])['message']) ?? textOf(lastDeath?.['reason']);
  return reason ?? (state === 'starting' ? null : 'no reason given');
}

/** The actors by database; none where the service keeps the route for itself. */
async function askActors(address: SyncAddress): Promise<ReadonlyMap<string, Json>> {
  const body = await ask(address, '/debug/actors', [200, 401, 403, 404]);
  return new Map(
    objects(body).map((actor) => {
      const { dbType, chain, network } = object(actor['id']);
      return [[dbType, chain, network].map(String).join('/'), actor];
    })
  );
}

/** @param accepted statuses whose body is an answer */
async function ask(address: SyncAddress, path: string, accepted: readonly number[]): Promise<Json> {
  const { status, body } = await fetchFrom(address, path, (response) => response.json());
  if (accepted.includes(status)) return object(body);
  const detail = { reason: `${address.url}${path} answered ${status}: ${String(object(body)['error'] ?? '')}` };
  throw new PlatformError(status === 401 ? 'UNAUTHORIZED' : 'SOURCE_REFUSED', detail);
}

async function fetchFrom(
  { url, apiKey, timeoutMs = 5_000 }: SyncAddress,
  path: string,
  read: (response: Response) => Promise<unknown>
): Promise<{ readonly status: number; readonly body: unknown }> {
  const request = {
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
    throw new PlatformError('SOURCE_UNREACHABLE', { reason }, { cause: caught });
  }
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function objects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
