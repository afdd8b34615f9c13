import { setTimeout as sleep } from 'node:timers/promises';
import { freeze, thaw } from '../../test/support/freeze.ts';
import type { SeededRandom } from '../federation/random.ts';
import { fillDisk } from '../small-disk.ts';
import type { NatsNode } from './cluster.ts';
import { type EdgeSystem, type Part, STREAM } from './system.ts';

/** Faults of the processes and of their ways to NATS. */
const KINDS = [
  'killPublisher',
  'killEdge',
  'killClient',
  'killNats',
  'killLeader',
  'freezePublisher',
  'freezeEdge',
  'freezeNats',
  'part',
  'hold',
  'fullDisk'
] as const;
export type EdgeFault = (typeof KINDS)[number];

const [SHORTEST_MS, LONGEST_MS] = [300, 5_000];
/** A lease of a publisher lasts six seconds: one that stands still for longer has lost it. */
const [SHORTEST_FREEZE_MS, LONGEST_FREEZE_MS] = [1_000, 12_000];

/** Strikes processes and links, as a seed will: one fault of a process at a time, and of one nats-server at a time. */
export class EdgeFaults {
  readonly counts: Partial<Record<EdgeFault, number>> = {};
  readonly #system: EdgeSystem;
  readonly #random: SeededRandom;
  readonly #tell: (line: string) => void;
  readonly #struck = new Set<Part | 'nats'>();

  constructor(system: EdgeSystem, random: SeededRandom, tell: (line: string) => void) {
    this.#system = system;
    this.#random = random;
    this.#tell = tell;
  }

  /** Strikes what the seed picks; nothing where another fault does not allow it. It ends with the fault. */
  async strike(): Promise<void> {
    const { publishers, edges, clients, nats, disk } = this.#system;
    const random = this.#random;
    const kind = random.pick(KINDS);
    const [publisher, edge, client, node] = [publishers, edges, clients, nats.nodes].map((all) =>
      random.between(0, all.length - 1)
    ) as [number, number, number, number];
    const either = random.pick([publishers[publisher]!, edges[edge]!]);
    const ms = random.between(SHORTEST_MS, LONGEST_MS);
    const frozenMs = random.between(SHORTEST_FREEZE_MS, LONGEST_FREEZE_MS);
    switch (kind) {
      case 'killPublisher':
        return this.#kill(kind, publishers[publisher]!, ms);
      case 'killEdge':
        return this.#kill(kind, edges[edge]!, ms);
      case 'killClient':
        return this.#kill(kind, clients[client]!, ms);
      case 'freezePublisher':
        return this.#freeze(kind, publishers[publisher]!, publishers[publisher]!, frozenMs);
      case 'freezeEdge':
        return this.#freeze(kind, edges[edge]!, edges[edge]!, frozenMs);
      case 'freezeNats':
        return this.#freeze(kind, nats.nodes[node]!, 'nats', ms);
      case 'killNats':
        return this.#killNats(kind, nats.nodes[node]!, ms);
      case 'killLeader':
        return this.#killNats(kind, (await nats.leaderOf(STREAM)) ?? nats.nodes[node]!, ms);
      case 'part':
        return this.#alone(kind, either, `${either.name} has no way to NATS`, frozenMs, async () => {
          for (const link of either.links) link.block();
          await sleep(frozenMs);
          for (const link of either.links) link.open();
        });
      case 'hold':
        return this.#alone(kind, either, `${either.name} hears nothing of NATS`, ms, async () => {
          for (const link of either.links) link.hold(ms);
          await sleep(ms);
        });
      case 'fullDisk':
        if (disk === null) return;
        return this.#alone(kind, 'nats', 'the disk of nats-1 is full', ms, async () => {
          const empty = fillDisk(disk);
          await sleep(ms);
          empty();
          await this.#restart(nats.nodes[0]!, 0);
        });
    }
  }

  #kill(kind: EdgeFault, part: Part, ms: number): Promise<void> {
    return this.#alone(kind, part, `kill ${part.name}`, ms, async () => {
      await part.kill();
      await sleep(ms);
      part.start();
    });
  }

  #killNats(kind: EdgeFault, node: NatsNode, ms: number): Promise<void> {
    return this.#alone(kind, 'nats', `kill ${node.name}`, ms, () => this.#restart(node, ms));
  }

  async #restart(node: NatsNode, ms: number): Promise<void> {
    await node.end();
    await sleep(ms);
    node.start();
  }

  #freeze(kind: EdgeFault, of: { readonly name: string; readonly pid: number }, struck: Part | 'nats', ms: number) {
    return this.#alone(kind, struck, `freeze ${of.name}`, ms, async () => {
      await freeze(of.pid);
      await sleep(ms);
      thaw(of.pid);
    });
  }

  async #alone(
    kind: EdgeFault,
    struck: Part | 'nats',
    what: string,
    ms: number,
    work: () => Promise<void>
  ): Promise<void> {
    if (this.#struck.has(struck)) return;
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    this.#tell(`${what} for ${ms} ms`);
    this.#struck.add(struck);
    await work();
    this.#struck.delete(struck);
  }
}
