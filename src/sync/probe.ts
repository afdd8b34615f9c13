import { ask, type Json, numberOf, object, objects, type ProbeAddress, textOf } from '../service/life/probe.ts';

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
  /** Reason why a replica is halted; null while it is not. */
  readonly halt: string | null;
  /** Action that ends the halt; null if there is none. */
  readonly remedy: string | null;
  /** Thing that its actor waits for, or the error that stopped it; null while it works. */
  readonly waiting: string | null;
  readonly restarts: number | null;
}

type Path = [dbType: string, chain: string, network: string];

/** The status of a sync service. */
export interface SyncProbe {
  readonly status: string;
  readonly mode: string;
  readonly databases: readonly ProbedDatabase[];
}

/**
 * Asks a running sync service how it is: `/health`, `/status` and, where allowed, `/debug/actors`.
 *
 * @throws {PlatformError} SERVICE_UNREACHABLE, UNAUTHORIZED, SOURCE_REFUSED
 */
export async function probeSync(address: ProbeAddress): Promise<SyncProbe> {
  const health = await ask(address, '/health', [200, 503]);
  const tree = await ask(address, '/status', [200]);
  const actors = await askActors(address);
  const databases = objects(health['databases']).map((entry) => {
    const [dbType, chain, network] = [entry['dbType'], entry['chain'], entry['network']].map(String) as Path;
    const name = [dbType, chain, network].join('/');
    const status = object(object(object(tree[chain])[network])[dbType]);
    return describeDatabase(name, entry, status, actors.get(name));
  });
  return {
    status: String(health['status']),
    mode: String(health['mode']),
    databases: databases.sort((a, b) => a.name.localeCompare(b.name))
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
    halt: status['halted'] === true ? (textOf(status['reason']) ?? 'no reason given') : null,
    remedy: textOf(status['remedy']),
    waiting: textOf(status['waiting']),
    restarts: numberOf(object(actor?.['restarts'])['total'])
  };
}

/** Asks for the actors by database; none where the service keeps the route for itself. */
async function askActors(address: ProbeAddress): Promise<ReadonlyMap<string, Json>> {
  const body = await ask(address, '/debug/actors', [200, 401, 403, 404]);
  return new Map(
    objects(body).map((actor) => {
      const { dbType, chain, network } = object(actor['id']);
      return [[dbType, chain, network].map(String).join('/'), actor];
    })
  );
}
