import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { runCommandLine } from '../../test/support/command-line.ts';
import { freeze, thaw } from '../../test/support/freeze.ts';
import { type Link, openLink } from '../../test/support/link.ts';
import { createDatabase, startOwnServer } from '../../test/support/mariadb.ts';
import { databaseEnv, type StartedProcess, startServiceProcess } from '../../test/support/service-process.ts';
import { temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import { SeededRandom } from './random.ts';

/** Faults of real hubs and of the ways between them. */
const CHAOS_KINDS = ['kill', 'killAll', 'freeze', 'part', 'isolate', 'hold', 'slow', 'freezeDatabase'] as const;
type ChaosKind = (typeof CHAOS_KINDS)[number];

interface ChaosOptions {
  readonly seed: number;
  readonly hubs: number;
  readonly seconds: number;
}

/** Results of a run. */
interface ChaosReport {
  /** Writes that were answered with success. */
  readonly writes: number;
  readonly faults: Readonly<Partial<Record<ChaosKind, number>>>;
  /** Time from the last fault until all hubs had the same, and took a write each, in milliseconds. */
  readonly healedMs: number;
}

/** A hub in a process of its own; the others reach it by links that can be cut. */
interface ChaosHub {
  readonly name: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly database: DatabaseCoordinates;
  process: StartedProcess | null;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are checked where they are used
type Answer = any;

const EPOCH_START = '1767225600000';
/** No hub listens there: all tell it of themselves, and dial each other by their links alone. */
const NOWHERE = '127.0.0.1:9';
const [HEAL_MS, CALL_MS, LOOK_MS] = [180_000, 25_000, 200];
const [SHORTEST_MS, LONGEST_MS] = [300, 5_000];

/**
 * Kills, stops, parts and slows the processes of a set while all of them take writes, then compares what they have.
 *
 * @throws {assert.AssertionError} when hubs differ, an answered write is missing, a log is not whole, or the set does not recover
 */
export async function runFederationChaos(options: ChaosOptions, tell: (line: string) => void): Promise<ChaosReport> {
  const run = await ChaosRun.start(options, tell);
  try {
    return await run.play();
  } finally {
    await run.end();
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #tell: (line: string) => void;
  readonly #random: SeededRandom;
  readonly #hubs: readonly ChaosHub[];
  /** By the places of two hubs, `from to`: the way by which the one dials the other. */
  readonly #links: ReadonlyMap<string, Link>;
  readonly #mariadb: number;
  readonly #file: string;
  readonly #answered: string[] = [];
  readonly #faults: Partial<Record<ChaosKind, number>> = {};
  /** Hubs that are being killed or stand still: one fault of a process at a time. */
  readonly #struck = new Set<ChaosHub>();
  #isWriting = true;

  private constructor(
    options: ChaosOptions,
    tell: (line: string) => void,
    parts: {
      readonly hubs: readonly ChaosHub[];
      readonly links: ReadonlyMap<string, Link>;
      readonly mariadb: number;
      readonly file: string;
    }
  ) {
    this.#options = options;
    this.#tell = tell;
    this.#random = new SeededRandom(options.seed);
    this.#hubs = parts.hubs;
    this.#links = parts.links;
    this.#mariadb = parts.mariadb;
    this.#file = parts.file;
  }

  static async start(options: ChaosOptions, tell: (line: string) => void): Promise<ChaosRun> {
    const server = await startOwnServer();
    const places = Array.from({ length: options.hubs }, (_, at) => at);
    const seeds = places.map((at) => (at + 1).toString(16).padStart(2, '0').repeat(32));
    const peerPorts = await Promise.all(places.map(() => freePort()));
    const links = new Map<string, Link>();
    for (const from of places)
      for (const to of places)
        if (from !== to) links.set(`${from} ${to}`, await openLink(`http://127.0.0.1:${peerPorts[to]}`));
    const directory = temporaryDirectory('federation-chaos');
    const fileOf = (own: number) => {
      const members = places.map((at) => {
        const url = links.get(`${own} ${at}`)?.url;
        return { pubkey: signingKey(seeds[at]!).pubkey, addr: url === undefined ? NOWHERE : new URL(url).host };
      });
      const file = join(directory, `federation-${own}.json`);
      writeFileSync(file, JSON.stringify({ quorum: 'byzantine', members }));
      return file;
    };
    const hubs: ChaosHub[] = [];
    for (const at of places) {
      const [port, database] = [await freePort(), await createDatabase('chaos', server.root)];
      const env = {
        ...databaseEnv('HUB', database),
        HUB_HOST: '127.0.0.1',
        HUB_PORT: String(port),
        HUB_RATE_LIMIT_RPM: '1000000',
        P2P_VALIDATOR_ADDR: NOWHERE,
        P2P_PORT: String(peerPorts[at]),
        P2P_RECONNECT_BASE: '100',
        P2P_RECONNECT_MAX: '1000',
        SIGNING_PRIVKEY_HEX: seeds[at]!,
        ORACLE_EPOCH_START: EPOCH_START,
        HUB_FEDERATION: fileOf(at)
      };
      hubs.push({ name: `hub ${at + 1}`, port, env, database, process: startServiceProcess('hub', env) });
    }
    return new ChaosRun(options, tell, {
      hubs,
      links,
      mariadb: server.pid,
      file: join(directory, 'federation-0.json')
    });
  }

  async play(): Promise<ChaosReport> {
    await this.#until('the hubs see each other', () => this.#areJoined());
    const writing = this.#hubs.map((hub) => this.#write(hub));
    const end = performance.now() + this.#options.seconds * 1_000;
    const struck: Promise<void>[] = [];
    while (performance.now() < end) {
      struck.push(this.#strike(this.#random.pick(CHAOS_KINDS)));
      await sleep(this.#random.between(SHORTEST_MS, LONGEST_MS));
    }
    await Promise.all(struck);
    const began = performance.now();
    await this.#until('all see each other again', () => this.#areJoined());
    this.#isWriting = false;
    await Promise.all(writing);
    for (const [at, hub] of this.#hubs.entries()) {
      const module = `last-${at}`;
      await this.#until(`${hub.name} takes a write`, () => this.#writeOnce(hub, module));
    }
    const places = await Promise.all(this.#hubs.map(async (hub) => (await call(hub, 'getallconfigs')).seq));
    const last = Math.max(...places);
    await Promise.all(
      this.#hubs.map((hub) =>
        this.#until(`${hub.name} has write ${last}`, async () => {
          await call(hub, 'getallconfigs', { min_seq: last });
          return true;
        })
      )
    );
    const healedMs = Math.round(performance.now() - began);
    await this.#check();
    return { writes: this.#answered.length, faults: this.#faults, healedMs };
  }

  async end(): Promise<void> {
    this.#isWriting = false;
    for (const { process } of this.#hubs) {
      process?.child.kill('SIGKILL');
      await process?.exited;
    }
  }

  /** Writes one entry after another, whatever the answers are. */
  async #write(hub: ChaosHub): Promise<void> {
    for (let number = 0; this.#isWriting; number++) {
      const module = `${hub.name.replace(' ', '-')}-${number}`;
      if (!(await this.#writeOnce(hub, module).catch(() => false))) await sleep(LOOK_MS);
    }
  }

  async #writeOnce(hub: ChaosHub, module: string): Promise<boolean> {
    const { status } = await call(hub, 'updateconfig', { config: { LTC: { regtest: { [module]: { host: 'h' } } } } });
    if (status === 'success') this.#answered.push(module);
    return status === 'success';
  }

  async #strike(kind: ChaosKind): Promise<void> {
    const hub = this.#random.pick(this.#hubs);
    const ms = this.#random.between(SHORTEST_MS, LONGEST_MS);
    const at = this.#hubs.indexOf(hub);
    const other = (at + this.#random.between(1, this.#hubs.length - 1)) % this.#hubs.length;
    const pair = [`${at} ${other}`, `${other} ${at}`];
    const all = [...this.#links.keys()].filter((key) => key.split(' ').includes(String(at)));
    if (this.#struck.has(hub) || (kind === 'killAll' && this.#struck.size > 0)) return;
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
    this.#tell(`${kind} ${kind === 'part' ? `${hub.name} and hub ${other + 1}` : hub.name} for ${ms} ms`);
    switch (kind) {
      case 'kill':
        await this.#kill([hub], ms);
        return;
      case 'killAll':
        await this.#kill(this.#hubs, ms);
        return;
      case 'freeze': {
        this.#struck.add(hub);
        const pid = hub.process!.child.pid!;
        await freeze(pid);
        await sleep(ms);
        thaw(pid);
        this.#struck.delete(hub);
        return;
      }
      case 'part':
      case 'isolate': {
        const keys = kind === 'part' ? pair : all;
        for (const key of keys) this.#links.get(key)!.block();
        await sleep(ms);
        for (const key of keys) this.#links.get(key)!.open();
        return;
      }
      case 'hold':
        for (const key of pair) this.#links.get(key)!.hold(ms);
        return;
      case 'slow':
        for (const key of all) {
          this.#links.get(key)!.slow(20_000, ms);
          this.#links.get(key)!.cut(); // what is connected again is slow
        }
        return;
      case 'freezeDatabase':
        await freeze(this.#mariadb);
        await sleep(Math.min(ms, 2_000));
        thaw(this.#mariadb);
    }
  }

  async #kill(hubs: readonly ChaosHub[], ms: number): Promise<void> {
    for (const hub of hubs) this.#struck.add(hub);
    for (const { process } of hubs) process!.child.kill('SIGKILL');
    await Promise.all(hubs.map(({ process }) => process!.exited));
    await sleep(ms);
    for (const hub of hubs) hub.process = startServiceProcess('hub', hub.env);
    for (const hub of hubs) this.#struck.delete(hub);
  }

  async #areJoined(): Promise<boolean> {
    const all = await Promise.all(this.#hubs.map((hub) => call(hub, 'getfederation')));
    return all.every(({ members }) => members.every(({ connected }: { connected: boolean }) => connected));
  }

  /** Compares what all hubs have, and checks two logs without them. */
  async #check(): Promise<void> {
    const [first, ...others] = await Promise.all(this.#hubs.map((hub) => call(hub, 'getallconfigs')));
    for (const [at, other] of others.entries())
      assert.deepEqual(other.configs, first.configs, `hub 1 and hub ${at + 2} have different configurations`);
    const missing = this.#answered.filter((module) => first.configs.LTC.regtest[module] === undefined);
    assert.deepEqual(missing, [], 'writes that were answered are lost');
    for (const hub of this.#hubs) {
      assert.deepEqual(await call(hub, 'getevidence'), [], `${hub.name} has evidence, and nobody lied`);
      assert.notEqual((await call(hub, 'getfederation')).phase, 'halted', hub.name);
    }
    const directory = temporaryDirectory('federation-logs');
    const paths: string[] = [];
    for (const [at, { database }] of this.#hubs.entries()) {
      const path = join(directory, `${at + 1}.log`);
      paths.push(path);
      const variables = {
        ...databaseEnv('HUB', database),
        ORACLE_EPOCH_START: EPOCH_START,
        HUB_FEDERATION: this.#file
      };
      const { code, stderr } = await runCommandLine(['federation', 'export', path], variables);
      assert.equal(code, 0, stderr);
    }
    const { code, stdout } = await runCommandLine(['federation', 'verify', ...paths]);
    assert.equal(code, 0, stdout);
    this.#tell(stdout.trim());
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    for (const since = performance.now(); !(await isSo().catch(() => false)); await sleep(LOOK_MS))
      if (performance.now() - since > HEAL_MS) {
        const outputs = this.#hubs.map(({ name, process }) => `${name}: ${process?.output().slice(-600)}`);
        assert.fail(`not within ${HEAL_MS / 1_000} s: ${what}\n${outputs.join('\n')}`);
      }
  }
}

/** Returns what a hub answers. @throws {Error} with the error that it answers, or why it does not */
async function call({ port }: ChaosHub, method: string, params: object = {}): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(CALL_MS)
  });
  const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: unknown };
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}
