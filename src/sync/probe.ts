import { ask, type Json, numberOf, object, objects, type ProbeAddress, textOf } from '../service/probe.ts';

/** One database of a running sync service, as its routes show it. */
export interface ProbedDatabase {
  /** `indexer/litecoin/regtest` */
  readonly name: string;
  readonly circuit: string | null;
  readonly height: number | null;
  readonly lagBlocks: number | null;
  /** The result of a replica's last comparison with its source; null where there is none. */
  readonly verification: string | null;
  /** State of its actor and of its machines; empty where the service shows none. */
  readonly state: string;
  /** Why it is halted, its actor down, or what its actor waits for; null while none is so. */
  readonly halt: string | null;
  /** What ends a durable halt; null where there is none. */
  readonly remedy: string | null;
  readonly restarts: number | null;
}

/** The status of a sync service. */
export interface SyncProbe {
  readonly status: string;
  readonly mode: string;
  readonly databases: readonly ProbedDatabase[];
}

/**
 * Asks a running sync service how it is: `/health`, `/status` of each database and, where allowed, `/debug/actors`.
 *
 * @throws {PlatformError} SOURCE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED
 */
export async function probeSync(address: ProbeAddress): Promise<SyncProbe> {
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

/** A replica's durable halt, what its actor waits for, or the error that it is down with, also while it is started once more. */
function haltOf(status: Json, actor: Json | undefined): string | null {
  if (status['halted'] === true) return textOf(status['reason']) ?? 'no reason given';
  const state = textOf(actor?.['state']);
  if (state === null || state === 'running') return textOf(object(actor?.['waiting'])['on']);
  const lastDeath = objects(object(actor?.['restarts'])['causes']).at(-1);
  const reason = textOf(object(actor?.['reason'])['message']) ?? textOf(lastDeath?.['reason']);
  return reason ?? (state === 'starting' ? null : 'no reason given');
}

/** The actors by database; none where the service keeps the route for itself. */
async function askActors(address: ProbeAddress): Promise<ReadonlyMap<string, Json>> {
  const body = await ask(address, '/debug/actors', [200, 401, 403, 404]);
  return new Map(
    objects(body).map((actor) => {
      const { dbType, chain, network } = object(actor['id']);
      return [[dbType, chain, network].map(String).join('/'), actor];
    })
  );
}
