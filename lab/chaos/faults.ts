import { setTimeout as sleep } from 'node:timers/promises';
import { connect, quoteName } from '../../src/db/connection.ts';
import type { Random } from '../../src/devnet/random.ts';
import { freeze, thaw } from '../../test/support/freeze.ts';
import { fillDisk } from '../small-disk.ts';
import { VICES } from './hostile-source.ts';
import { INDEXED } from './indexed.ts';
import { runInThread } from './inspector.ts';
import { FAULT_KINDS, type FaultKind } from './plan.ts';
import { isAlive, type Service } from './service.ts';
import { DATABASE, type System } from './system.ts';

/** A supervisor gives up on an actor that ends more often than ten times in five minutes. */
const DEATHS_AT_MOST = 7;
const DEATH_WINDOW_MS = 300_000;
/** A watchdog takes 15 s, a heap some seconds to be full. */
const DEATH_DEADLINE_MS = 60_000;
const CROWD = 500;
/** A guardian waits longer and longer for a service that ends again and again; after so long it begins anew. */
const STEADY_MS = 65_000;
/** Time for MariaDB to be well again. */
const MARIADB_REST_MS = 15_000;

/** A client has tried all its sources by then. */
const FOLLOWED_AFTER_MS = 3_000;

/** Scripts that run in a thread to end it, or its process. */
const SCRIPTS: Readonly<Partial<Record<FaultKind, string>>> = {
  hang: 'for (;;);',
  heapArray: 'const kept = []; for (;;) kept.push({ at: kept.length, text: String(Math.random()) });',
  heapMap: 'const kept = new Map(); for (let at = 0; ; at++) kept.set(at, { at });',
  heapFill: 'const kept = []; for (;;) kept.push(new Array(1e7).fill(1.5));',
  heapJson: `const kept = []; const text = '[' + '{"a":[1]},'.repeat(1e6) + '0]'; for (;;) kept.push(JSON.parse(text));`,
  buffers:
    'globalThis.kept = Array.from({ length: 40 }, () => Buffer.alloc(1e7, 1)); setTimeout(() => { delete globalThis.kept; }, 3000); 0'
};

const HOUR_MS = 3_600_000;

/** Sets the clock on the wall, for one thread. */
const clockScript = (aheadMs: number) => `
  globalThis.RealDate ??= Date;
  globalThis.Date = class extends RealDate {
    static now() { return RealDate.now() + ${aheadMs}; }
    constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])); }
  };
  0`;

/** Does to the system what a schedule says. */
export class Faults {
  readonly #system: System;
  /** Time for which MariaDB stands still. */
  readonly #standstillMs: number;
  readonly #deaths = new Map<Service, number[]>();
  /** When the process of a service was killed last. */
  readonly #killed = new Map<Service, number>();
  /** MariaDB suffers one thing at a time. */
  #mariadbUntil = 0;
  readonly disk: string | null;

  constructor(system: System, standstillMs: number) {
    this.#system = system;
    this.#standstillMs = standstillMs;
    this.disk = system.smallDisk;
  }

  /** The faults that can be made here: a small disk needs the right to mount one. */
  get kinds(): readonly FaultKind[] {
    return FAULT_KINDS.filter((kind) => kind !== 'fullDisk' || this.disk !== null);
  }

  /** @returns whom it fell on, when it is over; null when it could not be dealt now */
  async inflict(kind: FaultKind, random: Random): Promise<readonly Service[] | null> {
    const { servers, clients, links, hub } = this.#system;
    const server = random.pick(servers as [Service]);
    const client = random.pick(clients as [System['clients'][0]]);
    const either = random.pick([server, client.service]);
    const link = random.pick(links as [System['links'][0]]);
    const all = this.#system.services;
    const everyClient = clients.map(({ service }) => service);
    switch (kind) {
      case 'killSource':
        return this.#killActor(server);
      case 'killReplica':
        return this.#killActor(client.service);
      case 'killService':
        return this.#kill(either, either.pid);
      case 'killGuardian':
        return this.#kill(either, either.guardianPid);
      case 'hang':
      case 'heapArray':
      case 'heapMap':
      case 'heapFill':
      case 'heapJson':
      case 'buffers':
        return this.#run(either, SCRIPTS[kind]!);
      case 'cutLink':
        link.cut();
        return everyClient;
      case 'resetLink':
        link.reset();
        return everyClient;
      case 'stallLink': {
        const ms = random.pick([200, 1_000, 5_000]);
        link.hold(ms);
        await sleep(ms);
        return everyClient;
      }
      case 'slowLink': {
        const ms = random.between(1_000, 5_000);
        link.slow(random.pick([2_000, 20_000, 200_000]), ms);
        link.cut();
        await sleep(ms);
        return everyClient;
      }
      case 'killMariaDb':
        return (await this.#toMariaDb(() => this.#system.killMariaDb(random.pick([0, 500, 3_000])))) ? all : null;
      case 'stopMariaDb':
        return (await this.#toMariaDb(() => this.#standStill())) ? all : null;
      case 'tooManyConnections':
        return (await this.#toMariaDb(() => this.#refuseConnections(random.between(1_000, 4_000)))) ? all : null;
      case 'lockWait':
        return (await this.#toMariaDb(() => this.#lock(client.database.name, random.pick([300, 2_000, 6_000]))))
          ? [client.service]
          : null;
      case 'emptyReplica':
        return (await client.service.restart(() => this.#system.emptyReplica(client))) ? [client.service] : null;
      case 'clockJump':
        return this.#setClock(either, random.pick([-24, -1, -0.01, 0.01, 1, 24, 24 * 365]) * HOUR_MS);
      case 'fullDisk':
        await this.#fillDisk(random.between(1_000, 4_000));
        return [servers[0]!];
      case 'killHub':
        return this.#kill(hub, hub.pid);
      case 'hostileSource':
        await this.#turnHostile(random);
        return everyClient;
      case 'killIndexer':
      case 'killIndexerService':
      case 'stallIndexer':
      case 'lockLedger':
        return this.#system.indexed ? this.#toIndexer(kind, this.#system.indexed, random) : null;
      case 'slowSubscribers':
        await this.#system.crowdIn(CROWD, server.url);
        await sleep(random.between(2_000, 6_000));
        await this.#system.crowdOut();
        return [server];
    }
  }

  async #toIndexer(
    kind: 'killIndexer' | 'killIndexerService' | 'stallIndexer' | 'lockLedger',
    { service, indexer }: NonNullable<System['indexed']>,
    random: Random
  ): Promise<readonly Service[] | null> {
    switch (kind) {
      case 'killIndexer':
        if (!this.#mayDie(service)) return null;
        return (await service.post(`/debug/actors/indexer/${INDEXED.chain}/${INDEXED.network}/kill`))
          ? [service]
          : null;
      case 'killIndexerService':
        return this.#kill(service, service.pid);
      case 'lockLedger': {
        const ms = random.pick([300, 2_000, 6_000]);
        return (await this.#toMariaDb(() => this.#lock(indexer.name, ms, 'balances'))) ? [service] : null;
      }
      case 'stallIndexer': {
        const { pid } = service;
        if (pid === null) return null;
        await freeze(pid);
        await sleep(random.between(500, 6_000)).finally(() => thaw(pid));
        return [service];
      }
    }
  }

  /** In the front door and in the actor, until the next jump or the end of either. */
  async #setClock(service: Service, aheadMs: number): Promise<readonly Service[] | null> {
    const { pid } = service;
    if (pid === null) return null;
    for (const thread of [null, DATABASE])
      if (!(await runInThread(pid, thread, clockScript(aheadMs), () => service.log()))) return null;
    return [service];
  }

  async #kill(service: Service, pid: number | null): Promise<readonly Service[] | null> {
    if (pid === null || Date.now() < (this.#killed.get(service) ?? 0) + STEADY_MS) return null;
    this.#killed.set(service, Date.now());
    await kill(service, pid);
    return [service];
  }

  async #killActor(service: Service): Promise<readonly Service[] | null> {
    if (!this.#mayDie(service)) return null;
    return (await service.post(`/debug/actors/${DATABASE}/kill`)) ? [service] : null;
  }

  async #run(service: Service, script: string): Promise<readonly Service[] | null> {
    const { pid } = service;
    if (pid === null || !this.#mayDie(service)) return null;
    const before = await lives(service);
    if (!(await runInThread(pid, DATABASE, script, () => service.log()))) return null;
    if (script === SCRIPTS.buffers) return [service];
    for (const deadline = Date.now() + DEATH_DEADLINE_MS; Date.now() < deadline; await sleep(200))
      if ((await lives(service)) !== before) return [service];
    this.#system.violations.push(`${service.name}: its thread did not end by ${script}`);
    return [service];
  }

  #mayDie(service: Service): boolean {
    const now = Date.now();
    const recent = (this.#deaths.get(service) ?? []).filter((at) => at > now - DEATH_WINDOW_MS);
    if (recent.length >= DEATHS_AT_MOST) return false;
    this.#deaths.set(service, [...recent, now]);
    return true;
  }

  /** @returns false when it has to suffer something already, or just had to */
  async #toMariaDb(what: () => Promise<void>): Promise<boolean> {
    if (Date.now() < this.#mariadbUntil) return false;
    this.#mariadbUntil = Number.POSITIVE_INFINITY;
    await what().finally(() => (this.#mariadbUntil = Date.now() + MARIADB_REST_MS));
    return true;
  }

  async #standStill(): Promise<void> {
    const { pid } = this.#system.mariadb;
    await freeze(pid);
    await sleep(this.#standstillMs).finally(() => thaw(pid));
  }

  async #refuseConnections(ms: number): Promise<void> {
    const connection = await connect(this.#system.mariadb.root);
    await connection.query('SET GLOBAL max_connections = 10');
    await sleep(ms);
    await connection.query('SET GLOBAL max_connections = 300');
    await connection.end();
  }

  /** Somebody else holds rows that every group writes. */
  async #lock(name: string, ms: number, table = 'sync_state'): Promise<void> {
    const connection = await connect({ ...this.#system.mariadb.root, name });
    await connection.query('START TRANSACTION');
    await connection.query(`SELECT * FROM ${quoteName(table)} FOR UPDATE`);
    await sleep(ms);
    await connection.end();
  }

  /** Makes a source hostile to a client that only listens to it, or follows it, as it does when it reaches no other. */
  async #turnHostile(random: Random): Promise<void> {
    const { source, others } = random.pick(this.#system.hostile as [System['hostile'][0]]);
    const [vice, ms, isFollowed] = [random.pick(VICES), random.between(1_000, 6_000), random.pick([true, false])];
    if (isFollowed) {
      for (const link of others) link.block();
      await sleep(FOLLOWED_AFTER_MS);
      for (const link of others) link.open();
    }
    await source.turn(vice, ms);
  }

  /** Fills the first server's disk while it is asked for a snapshot. */
  async #fillDisk(ms: number): Promise<void> {
    const [server] = this.#system.servers;
    const empty = fillDisk(this.disk!);
    await server!.get(`/snapshot/${DATABASE}`);
    await sleep(ms);
    empty();
  }
}

/** Returns the present process and threads of a service. */
async function lives(service: Service): Promise<string> {
  const { pid } = service;
  const seen = (await service.get('/debug/actors')) as readonly { generation: number }[] | null;
  return `${pid} ${seen?.map(({ generation }) => generation).join() ?? 'silent'}`;
}

/** Over when the process is gone: what it said last is no sign of life. */
async function kill(service: Service, pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  const before = service.pid;
  for (const deadline = Date.now() + DEATH_DEADLINE_MS; Date.now() < deadline; await sleep(50))
    if (!isAlive(pid) && (before === null || !isAlive(before) || before === pid)) return;
}
