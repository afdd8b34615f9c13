import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { appendBlocks, reorg } from '../../test/support/sync/generated-decoder.ts';
import { SeededRandom } from '../federation/random.ts';
import { type EdgeFault, EdgeFaults } from './faults.ts';
import { EdgeSubscriber } from './subscriber.ts';
import { type EdgeSystem, type Part, startEdgeSystem } from './system.ts';

interface EdgeChaosOptions {
  readonly seed: number;
  readonly seconds: number;
}

/** Results of a run. */
interface EdgeChaosReport {
  readonly faults: Readonly<Partial<Record<EdgeFault, number>>>;
  /** Blocks that were written, and the reorgs among them. */
  readonly blocks: number;
  readonly reorgs: number;
  /** Blocks that all subscribers were sent, and the times at which one was told to take a snapshot. */
  readonly received: number;
  readonly snapshots: number;
  /** Time from the last fault until everything stood at the source's block, in milliseconds. */
  readonly healedMs: number;
  /** Promises that were broken, in words. */
  readonly violations: readonly string[];
}

const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [500, 4_000];
const HEAL_MS = 180_000;
const LOOK_MS = 200;
const DEEPEST_REORG = 4;
const SUBSCRIBERS_AN_EDGE = 2;

/** Strikes everything between a source and the subscribers of its edges while blocks come, then compares what each of them has. */
export async function runEdgeChaos(
  { seed, seconds }: EdgeChaosOptions,
  tell: (line: string) => void
): Promise<EdgeChaosReport> {
  const system = await startEdgeSystem();
  const random = new SeededRandom(seed);
  const faults = new EdgeFaults(system, random, tell);
  const subscribers = system.streams.flatMap((_, at) =>
    Array.from({ length: SUBSCRIBERS_AN_EDGE }, (_, number) => {
      return new EdgeSubscriber(`subscriber ${number + 1} of edge ${at + 1}`, system.streams, at, system.key);
    })
  );
  const writer = new Writer(system.source, seed);
  const writing = writer.run();
  const end = performance.now() + seconds * 1_000;
  const struck: Promise<void>[] = [];
  while (performance.now() < end) {
    struck.push(faults.strike());
    await sleep(random.between(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
  }
  await Promise.all(struck);
  const healing = performance.now();
  writer.end();
  await writing;
  // A last block shows that each way is open.
  const tip = await writer.append(1);
  const violations = await heal(system, tip);
  const blocks = await blocksOf(system.source);
  for (const { record } of subscribers) {
    await until(HEAL_MS, async () => record.position?.height === tip);
    record.compare(blocks);
    violations.push(...record.violations);
  }
  const healedMs = Math.round(performance.now() - healing);
  violations.push(...(await system.compare()));
  for (const subscriber of subscribers) subscriber.end();
  await Promise.all([...system.clients, ...system.edges, ...system.publishers].map((part) => part.kill()));
  return {
    faults: faults.counts,
    blocks: writer.blocks,
    reorgs: writer.reorgs,
    received: subscribers.reduce((sum, { record }) => sum + record.received, 0),
    snapshots: subscribers.reduce((sum, { record }) => sum + record.snapshots, 0),
    healedMs,
    violations
  };
}

/** Waits until all parts stand at a block. @returns those that do not, with their last words */
async function heal({ publishers, edges, clients }: EdgeSystem, tip: number): Promise<string[]> {
  const isThere = async (part: Part) => {
    const { height, phase } = await part.standing();
    return height === tip && (!clients.includes(part) || phase === 'live');
  };
  const late: string[] = [];
  for (const part of [...publishers, ...edges, ...clients])
    if (!(await until(HEAL_MS, () => isThere(part)))) {
      const words = JSON.stringify(await part.standing());
      late.push(`${part.name} does not come to block ${tip}: ${words}\n${part.output.slice(-2_000)}`);
    }
  return late;
}

async function until(deadlineMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
  for (const since = performance.now(); performance.now() - since < deadlineMs; await sleep(LOOK_MS))
    if (await isSo()) return true;
  return false;
}

/** Hash of each block of the source, by height. */
async function blocksOf(source: DatabaseCoordinates): Promise<Map<number, string>> {
  const connection = await connect(source);
  const found = await rows<{ height: number; hash: string }>(
    connection,
    'SELECT b.block_index AS height, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id'
  );
  await connection.end();
  return new Map(found.map(({ height, hash }) => [Number(height), hash]));
}

/** Lets the source grow, with a reorg now and then. */
class Writer {
  blocks = 0;
  reorgs = 0;
  readonly #source: DatabaseCoordinates;
  readonly #random: SeededRandom;
  readonly #seed: number;
  #isEnded = false;

  constructor(source: DatabaseCoordinates, seed: number) {
    this.#source = source;
    this.#random = new SeededRandom(seed + 1);
    this.#seed = seed;
  }

  end(): void {
    this.#isEnded = true;
  }

  async run(): Promise<void> {
    while (!this.#isEnded) {
      if (this.#random.chance(1 / 10)) await this.#reorganise(this.#random.between(1, DEEPEST_REORG));
      else await this.append(this.#random.pick([1, 1, 1, 3]));
      await sleep(this.#random.between(200, 1_500));
    }
  }

  /** @returns the highest block */
  append(count: number): Promise<number> {
    this.blocks += count;
    return appendBlocks(this.#source, count, `edges ${this.#seed} ${this.blocks}`);
  }

  async #reorganise(depth: number): Promise<void> {
    this.reorgs += 1;
    const count = depth + this.#random.between(0, 1);
    this.blocks += count;
    await reorg(this.#source, depth, count, `edges ${this.#seed} branch ${this.blocks}`);
  }
}
