import { setTimeout as sleep } from 'node:timers/promises';
import { type PrivateMariaDb, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { freeze, thaw } from '../../test/support/freeze.ts';
import type { Link } from '../../test/support/link.ts';
import { makeServerDirectory } from '../../test/support/mariadb.ts';
import { startServiceProcess } from '../../test/support/service-process.ts';
import { temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import { fillDisk, mountSmallDisk } from '../small-disk.ts';
import type { SeededRandom } from './random.ts';
import type { RealHub } from './real-set.ts';

/** Faults of real hubs, of the ways between them, and of their database server. */
const CHAOS_KINDS = [
  'kill',
  'killAll',
  'freeze',
  'part',
  'isolate',
  'oneWay',
  'hold',
  'slow',
  'freezeDatabase',
  'restartDatabase',
  'fullDisk'
] as const;
export type ChaosKind = (typeof CHAOS_KINDS)[number];

/** Processes and links that a fault may strike. */
export interface ChaosSystem {
  readonly hubs: readonly RealHub[];
  /** By the places of two hubs, `from to`: the way by which the one dials the other. */
  readonly links: ReadonlyMap<string, Link>;
  readonly databases: ChaosDatabases;
}

export const [SHORTEST_MS, LONGEST_MS] = [300, 5_000];
/** Callers wait longer for a hub that cannot write. */
const LONGEST_OF_DATABASE_MS = 2_000;
const SLOW_BYTES_A_SECOND = 20_000;

/** The MariaDB of all hubs, on a disk of its own where one may be mounted. */
export class ChaosDatabases {
  readonly #directory: string;
  /** A disk that can be filled; null where nothing may be mounted. */
  readonly disk: string | null;
  #server: PrivateMariaDb;

  private constructor(directory: string, disk: string | null, server: PrivateMariaDb) {
    this.#directory = directory;
    this.disk = disk;
    this.#server = server;
  }

  static async start(): Promise<ChaosDatabases> {
    const disk = mountSmallDisk(temporaryDirectory('federation-chaos-disk'));
    const directory = makeServerDirectory(disk ?? undefined);
    const databases = new ChaosDatabases(directory, disk, await startMariaDb(directory));
    atEnd(() => databases.#server.stop('SIGKILL'));
    return databases;
  }

  get root(): PrivateMariaDb['root'] {
    return this.#server.root;
  }

  get pid(): number {
    return this.#server.pid;
  }

  /** Kills the server, and starts it after so long. */
  async restart(ms: number): Promise<void> {
    await this.#server.stop('SIGKILL');
    await sleep(ms);
    this.#server = await startMariaDb(this.#directory, [], this.#server.port);
  }
}

/** Strikes a set of real hubs, one fault of a process at a time. */
export class ChaosFaults {
  readonly counts: Partial<Record<ChaosKind, number>> = {};
  readonly #system: ChaosSystem;
  readonly #random: SeededRandom;
  readonly #tell: (line: string) => void;
  /** Processes that are being killed or stand still. */
  readonly #struck = new Set<RealHub | ChaosDatabases>();

  constructor(system: ChaosSystem, random: SeededRandom, tell: (line: string) => void) {
    this.#system = system;
    this.#random = random;
    this.#tell = tell;
  }

  /** Strikes a hub that the seed picks; nothing where another fault does not allow it. */
  async strike(): Promise<void> {
    const { hubs, links, databases } = this.#system;
    const kind = this.#random.pick(CHAOS_KINDS);
    const hub = this.#random.pick(hubs);
    const ms = this.#random.between(SHORTEST_MS, LONGEST_MS);
    const at = hubs.indexOf(hub);
    const other = (at + this.#random.between(1, hubs.length - 1)) % hubs.length;
    const there = links.get(`${at} ${other}`)!;
    const back = links.get(`${other} ${at}`)!;
    const all = [...links].filter(([key]) => key.split(' ').includes(String(at))).map(([, link]) => link);
    if (!this.#isPossible(kind, hub)) return;
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const isOfTwo = kind === 'part' || kind === 'oneWay' || kind === 'hold';
    this.#tell(`${kind} ${isOfTwo ? `${hub.name} and hub ${other + 1}` : hub.name} for ${ms} ms`);
    switch (kind) {
      case 'kill':
        return this.#kill([hub], ms);
      case 'killAll':
        return this.#kill(hubs, ms);
      case 'freeze':
        return this.#freeze(hub, hub.process!.child.pid!, ms);
      case 'part':
      case 'isolate': {
        const blocked = kind === 'part' ? [there, back] : all;
        for (const link of blocked) link.block();
        await sleep(ms);
        for (const link of blocked) link.open();
        return;
      }
      case 'oneWay':
        // What this hub says does not reach the other, and what the other says reaches it.
        there.holdFrom('client', ms);
        back.holdFrom('server', ms);
        return sleep(ms);
      case 'hold':
        for (const link of [there, back]) link.hold(ms);
        return;
      case 'slow':
        for (const link of all) {
          link.slow(SLOW_BYTES_A_SECOND, ms);
          link.cut(); // what is connected again is slow
        }
        return;
      case 'freezeDatabase':
        return this.#freeze(databases, databases.pid, Math.min(ms, LONGEST_OF_DATABASE_MS));
      case 'restartDatabase':
        return this.#alone(databases, () => databases.restart(Math.min(ms, LONGEST_OF_DATABASE_MS)));
      case 'fullDisk':
        return this.#alone(databases, async () => {
          const empty = fillDisk(databases.disk!);
          await sleep(ms);
          empty();
        });
    }
  }

  #isPossible(kind: ChaosKind, hub: RealHub): boolean {
    const { databases } = this.#system;
    if (kind === 'fullDisk' && databases.disk === null) return false;
    const isOfDatabase = kind === 'freezeDatabase' || kind === 'restartDatabase' || kind === 'fullDisk';
    if (isOfDatabase) return !this.#struck.has(databases);
    return !this.#struck.has(hub) && (kind !== 'killAll' || this.#system.hubs.every((each) => !this.#struck.has(each)));
  }

  async #alone(struck: RealHub | ChaosDatabases, work: () => Promise<void>): Promise<void> {
    this.#struck.add(struck);
    await work();
    this.#struck.delete(struck);
  }

  #freeze(struck: RealHub | ChaosDatabases, pid: number, ms: number): Promise<void> {
    return this.#alone(struck, async () => {
      await freeze(pid);
      await sleep(ms);
      thaw(pid);
    });
  }

  async #kill(hubs: readonly RealHub[], ms: number): Promise<void> {
    for (const hub of hubs) this.#struck.add(hub);
    for (const { process } of hubs) process!.child.kill('SIGKILL');
    await Promise.all(hubs.map(({ process }) => process!.exited));
    await sleep(ms);
    for (const hub of hubs) hub.process = startServiceProcess('hub', hub.env);
    for (const hub of hubs) this.#struck.delete(hub);
  }
}
