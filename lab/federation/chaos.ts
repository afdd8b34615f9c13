import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommandLine } from '../../test/support/command-line.ts';
import { type Link, openLink } from '../../test/support/link.ts';
import { databaseEnv } from '../../test/support/service-process.ts';
import { temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import {
  ChaosDatabases,
  ChaosFaults,
  type ChaosKind,
  type ChaosSystem,
  LONGEST_MS,
  SHORTEST_MS
} from './chaos-faults.ts';
import { SeededRandom } from './random.ts';
import { areJoined, call, configurationsOf, EPOCH_START, type RealHub, startSet, writeEntry } from './real-set.ts';

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

const [HEAL_MS, LOOK_MS] = [180_000, 200];

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
  readonly #hubs: readonly RealHub[];
  readonly #faults: ChaosFaults;
  readonly #file: string;
  readonly #answered: string[] = [];
  #isWriting = true;

  private constructor(options: ChaosOptions, tell: (line: string) => void, system: ChaosSystem, file: string) {
    this.#options = options;
    this.#tell = tell;
    this.#random = new SeededRandom(options.seed);
    this.#hubs = system.hubs;
    this.#faults = new ChaosFaults(system, this.#random, tell);
    this.#file = file;
  }

  static async start(options: ChaosOptions, tell: (line: string) => void): Promise<ChaosRun> {
    const databases = await ChaosDatabases.start();
    const links = new Map<string, Link>();
    const { hubs, file } = await startSet({
      hubs: options.hubs,
      server: databases.root,
      async addressOf(from, to, peerPorts) {
        const link = await openLink(`http://127.0.0.1:${peerPorts[to]}`);
        links.set(`${from} ${to}`, link);
        return new URL(link.url).host;
      }
    });
    return new ChaosRun(options, tell, { hubs, links, databases }, file);
  }

  async play(): Promise<ChaosReport> {
    await this.#until('the hubs see each other', () => areJoined(this.#hubs));
    const writing = this.#hubs.map((hub) => this.#write(hub));
    const end = performance.now() + this.#options.seconds * 1_000;
    const struck: Promise<void>[] = [];
    while (performance.now() < end) {
      struck.push(this.#faults.strike());
      await sleep(this.#random.between(SHORTEST_MS, LONGEST_MS));
    }
    await Promise.all(struck);
    const began = performance.now();
    await this.#until('all see each other again', () => areJoined(this.#hubs));
    this.#isWriting = false;
    await Promise.all(writing);
    for (const [at, hub] of this.#hubs.entries()) {
      const module = `last-${at}`;
      await this.#until(`${hub.name} takes a write`, () => this.#writeOnce(hub, module));
    }
    await this.#until('all have applied the same', async () => (await configurationsOf(this.#hubs)).length > 0);
    const healedMs = Math.round(performance.now() - began);
    await this.#check();
    return { writes: this.#answered.length, faults: this.#faults.counts, healedMs };
  }

  async end(): Promise<void> {
    this.#isWriting = false;
    for (const { process } of this.#hubs) {
      process?.child.kill('SIGKILL');
      await process?.exited;
    }
  }

  /** Writes one entry after another, whatever the answers are. */
  async #write(hub: RealHub): Promise<void> {
    for (let number = 0; this.#isWriting; number++) {
      const module = `${hub.name.replace(' ', '-')}-${number}`;
      if (!(await this.#writeOnce(hub, module).catch(() => false))) await sleep(LOOK_MS);
    }
  }

  async #writeOnce(hub: RealHub, module: string): Promise<boolean> {
    const isWritten = await writeEntry(hub, module);
    if (isWritten) this.#answered.push(module);
    return isWritten;
  }

  /** Compares what all hubs have, and checks two logs without them. */
  async #check(): Promise<void> {
    const [first, ...others] = await configurationsOf(this.#hubs);
    for (const [at, other] of others.entries())
      assert.deepEqual(other, first, `hub 1 and hub ${at + 2} have different configurations`);
    const missing = this.#answered.filter((module) => first.LTC.regtest[module] === undefined);
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
        ORACLE_EPOCH_START: String(EPOCH_START),
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
