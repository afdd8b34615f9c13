import type { Committed, Operation } from '../../src/hub/federation/consensus/messages.ts';
import type { Rules } from '../../src/hub/federation/consensus/rules.ts';
import { type ConsensusState, operationKey } from '../../src/hub/federation/consensus/state.ts';
import { History } from './history.ts';
import { Hub, type Sent, type World } from './hub.ts';
import { Keys } from './keys.ts';
import { type Behaviour, Liar } from './liars.ts';
import { SeededRandom } from './random.ts';
import { Violation } from './violation.ts';

interface SimulationOptions {
  readonly seed: number;
  readonly hubs: number;
  /** Behaviour of one hub; absent: all are honest. */
  readonly behaviour?: Behaviour;
  /** Events of the disturbed part. */
  readonly steps: number;
  /** Many writes and few disturbances, for a long log. */
  readonly isBusy?: boolean;
  /** Longest time that the databases of most hubs take for a batch; absent: all are fast. They lose their power together now and then. */
  readonly longestWriteMs?: number;
  /** Chance of a crash, a cut or the like at each step; 0: nothing is lost. */
  readonly disturbance?: number;
  /** Sees each step of an honest hub. */
  readonly watch?: (before: ConsensusState, after: ConsensusState, rules: Rules) => void;
}

/** Results of a run. */
interface SimulationResult {
  readonly steps: number;
  readonly batches: number;
  readonly operations: number;
  readonly crashes: number;
  readonly partitions: number;
  readonly highestView: number;
  /** Answered writes and reads whose order was checked. */
  readonly checked: number;
  /** Number of times that the lying hub differed from an honest one. */
  readonly lies: number;
  /** Databases that were replaced by the state of another hub. */
  readonly replaced: number;
  /** Hubs that signed two things for one place, as others saw it. */
  readonly named: ReadonlySet<string>;
}

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Time that hubs have, once all run and hear each other, to carry out what waits. */
const CALM_MS = 180_000;

/** Runs a set of hubs through crashes, partitions and lost messages, then in calm, and checks the promises after each batch. */
export class Simulation implements World {
  readonly random: SeededRandom;
  readonly keys: Keys;
  readonly #hubs = new Map<string, Hub>();
  readonly #liar: string | null;
  readonly #options: SimulationOptions;
  readonly #queue: Due[] = [];
  readonly #log = new Map<number, string>();
  readonly #done = new Map<string, number>();
  readonly #submitted: Operation[] = [];
  readonly #named = new Set<string>();
  readonly #history = new History();
  #groups = new Map<string, number>();
  /** Ways on which nothing arrives, `from to`. */
  #deaf = new Set<string>();
  #lies = 0;
  #replaced = 0;
  #loss = 0;
  #time = 1_000_000;
  #order = 0;
  #crashes = 0;
  #partitions = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.random = new SeededRandom(options.seed);
    this.keys = new Keys(options.hubs);
    this.#liar = options.behaviour ? this.random.pick(this.keys.keys) : null;
    for (const key of this.keys.keys)
      this.#hubs.set(key, key === this.#liar ? new Liar(key, this, options.behaviour!) : new Hub(key, this));
  }

  /** @throws {Violation} naming the promise that was broken */
  run(): SimulationResult {
    const { longestWriteMs } = this.#options;
    for (const hub of this.#hubs.values()) {
      hub.skewMs = this.random.between(-3_000, 3_000);
      if (longestWriteMs !== undefined && this.random.chance(0.75)) hub.longestWriteMs = longestWriteMs;
      hub.start();
    }
    const { isBusy = false, disturbance = isBusy ? 0.0005 : 0.004 } = this.#options;
    let steps = 0;
    for (; steps < this.#options.steps; steps++) {
      if (this.random.chance(disturbance)) this.#disturb();
      if (this.random.chance(isBusy ? 0.05 : 0.02)) this.#submit();
      if (this.random.chance(0.02)) this.#read();
      this.#next();
    }
    this.#calm();
    const until = this.#time + CALM_MS;
    while (this.#time < until && !this.#isDone()) this.#next();
    this.#checkEnd();
    const views = this.#honest().map(({ state }) => state?.view ?? 0);
    return {
      steps,
      batches: this.#log.size,
      operations: this.#done.size,
      crashes: this.#crashes,
      partitions: this.#partitions,
      highestView: Math.max(...views),
      named: this.#named,
      checked: this.#history.check(),
      lies: this.#lies,
      replaced: this.#replaced
    };
  }

  now(): number {
    return this.#time;
  }

  after(delayMs: number, run: () => void): void {
    const due = { at: this.#time + delayMs, order: this.#order++, run };
    let [low, high] = [0, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#queue[middle]!;
      if (other.at > due.at || (other.at === due.at && other.order > due.order)) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, due);
  }

  send(from: string, to: string, sent: Sent): void {
    if (this.#groups.get(from) !== this.#groups.get(to) || this.#deaf.has(`${from} ${to}`)) return;
    if (this.random.chance(this.#loss)) return;
    const copies = this.random.chance(this.#loss / 4) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++)
      this.after(this.random.between(1, 40), () => {
        const hub = this.#hubs.get(to)!;
        if (hub.isRunning) hub.receive(from, sent);
      });
  }

  applied(hub: string, { batch }: Committed): void {
    if (hub === this.#liar) return;
    this.#history.applied(hub, batch, this.#hubs.get(hub)!.disk.tables, this.#time);
    const digest = this.keys.digestOf(batch);
    const first = this.#log.get(batch.seq);
    if (first !== undefined && first !== digest) throw new Violation(`agreement: two batches at ${batch.seq}`);
    if (first !== undefined) return;
    this.#log.set(batch.seq, digest);
    for (const operation of batch.operations) {
      const key = operationKey(operation);
      if (this.#done.has(key)) throw new Violation(`${key} is applied twice`);
      this.#done.set(key, batch.seq);
      const own = this.#submitted.find((one) => operationKey(one) === key);
      if (operation.submitter !== this.#liar && own?.body !== operation.body)
        throw new Violation(`validity: ${key} was not submitted`);
    }
  }

  evidence(by: string, against: string): void {
    if (by === this.#liar) return;
    if (against !== this.#liar) throw new Violation(`${by} names ${against}, which is honest`);
    this.#named.add(against);
  }

  stepped(before: ConsensusState, after: ConsensusState, rules: Rules): void {
    if (rules.self !== this.#liar) this.#options.watch?.(before, after, rules);
  }

  replaced(hub: string, seq: number, tables: string): void {
    this.#replaced += 1;
    if (hub !== this.#liar) this.#history.read(seq, tables);
  }

  lied(): void {
    this.#lies += 1;
  }

  #next(): void {
    const due = this.#queue.pop();
    if (!due) {
      for (const hub of this.#hubs.values()) if (!hub.isRunning) hub.start(); // all had crashed
      return;
    }
    this.#time = Math.max(this.#time, due.at);
    due.run();
  }

  #honest(): Hub[] {
    return [...this.#hubs.values()].filter(({ key }) => key !== this.#liar);
  }

  #submit(): void {
    const hub = this.random.pick([...this.#hubs.values()]);
    if (!hub.isRunning) return;
    const operation = hub.submit(`write ${this.#submitted.length}`);
    if (hub.key === this.#liar) return;
    this.#submitted.push(operation);
    this.#history.called(operation, this.#time);
  }

  /** Reads at a hub what a write that some hub has answered must be in. */
  #read(): void {
    const hub = this.random.pick(this.#honest());
    if (hub.isRunning) this.#history.read(hub.disk.applied.seq, hub.disk.tables);
  }

  #disturb(): void {
    const { random } = this;
    const what = random.next();
    const hub = random.pick([...this.#hubs.values()]);
    if (this.#options.longestWriteMs !== undefined && random.chance(0.2)) {
      this.#crashes += 1;
      for (const each of this.#hubs.values()) each.crash();
    } else if (what < 0.35 && hub.isRunning) {
      this.#crashes += 1;
      hub.crash();
    } else if (what < 0.65) {
      for (const each of this.#hubs.values()) if (!each.isRunning) each.start();
    } else if (what < 0.75) {
      this.#partitions += 1;
      this.#groups = new Map(this.keys.keys.map((key) => [key, random.between(0, 1)]));
    } else if (what < 0.8) {
      this.#deaf.add(`${hub.key} ${random.pick(this.keys.keys)}`);
    } else if (what < 0.85) {
      hub.skewMs = random.between(-10_000, 10_000);
    } else if (what < 0.92) {
      this.#groups = new Map();
      this.#deaf = new Set();
    } else this.#loss = random.pick([0, 0, 0.05, 0.2]);
  }

  #calm(): void {
    this.#groups = new Map();
    this.#deaf = new Set();
    this.#loss = 0;
    for (const hub of this.#hubs.values()) if (!hub.isRunning) hub.start();
  }

  #isDone(): boolean {
    const [first, ...rest] = this.#honest();
    return (
      this.#submitted.every((operation) => this.#done.has(operationKey(operation))) &&
      rest.every(({ disk }) => disk.tables === first!.disk.tables)
    );
  }

  #checkEnd(): void {
    const missing = this.#submitted.filter((operation) => !this.#done.has(operationKey(operation)));
    if (missing.length > 0)
      throw new Violation(
        `progress: ${missing.length} writes were not carried out, ${operationKey(missing[0]!)} first`
      );
    const behind = this.#honest().map(({ key, disk }) => `${key} ${disk.applied.seq} ${disk.tables}`);
    if (!this.#isDone()) throw new Violation(`states differ: ${behind.join(', ')}`);
  }
}
