import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, type SyncProcess } from '../../../../test/support/sync/sync-process.ts';
import type { AttackersAsk } from '../processes/attackers.ts';
import type { GoodClientsAsk, Seen } from '../processes/good-clients.ts';
import { cpuMs, Helper } from '../processes/helper.ts';
import { ATTACKS, type Attack, addressOf } from './attacks.ts';
import type { BlockWriter } from './block-writer.ts';
import { connectionsOf, type Held, type ProcessMemory } from './process-memory.ts';

export const LOOK_MS = 2_000;
const GONE_DEADLINE_MS = 15_000;
const LONGEST_MS = 70_000;
const LIVES = 50;

/** Effect of one attack on the server, and on the good clients meanwhile. */
export interface Outcome {
  readonly attack: Attack;
  readonly made: number;
  readonly kept: number;
  readonly heapEach: number;
  readonly rssEach: number;
  readonly cpuShare: number;
  readonly seen: Delays;
}

/** Waits of good clients, in milliseconds, and their errors. */
export interface Delays {
  readonly status: number[];
  readonly download: number[];
  readonly blocks: number[];
  readonly faults: string[];
}

/** A server with good clients and hostile ones. */
export class AttackedServer {
  readonly #server: SyncProcess;
  readonly #memory: ProcessMemory;
  readonly #writer: BlockWriter;
  readonly #good = new Helper<GoodClientsAsk>('good-clients.ts');
  readonly #hostile = new Helper<AttackersAsk>('attackers.ts').giveWay();
  readonly #port: number;
  #etag = '';

  constructor(server: SyncProcess, memory: ProcessMemory, writer: BlockWriter) {
    this.#server = server;
    this.#memory = memory;
    this.#writer = writer;
    this.#port = Number(new URL(server.url).port);
  }

  async begin(): Promise<void> {
    this.#etag = await this.#good.ask<string>({ type: 'begin', port: this.#port });
    await sleep(1_000);
  }

  held(): Promise<Held> {
    return this.#memory.read();
  }

  /** Returns the waits of the good clients during a while. */
  async look(ms = LOOK_MS): Promise<Delays> {
    await this.#good.ask({ type: 'collect' });
    await sleep(ms);
    return this.#delays(await this.#good.ask<Seen>({ type: 'collect' }));
  }

  #delays({ blocks, ...seen }: Seen): Delays {
    return { ...seen, blocks: this.#writer.delays(blocks) };
  }

  /** Makes an attack, looks at what it does, and ends it. */
  async attack(attack: Attack, count: number): Promise<Outcome> {
    const before = await this.held();
    const pid = this.#server.child.pid!;
    await this.#good.ask({ type: 'collect' });
    const [beganAt, cpuBefore] = [performance.now(), cpuMs(pid)];
    await this.#hostile.ask({ type: 'begin', attack: attack.name, port: this.#port, count, etag: this.#etag });
    await sleep(LOOK_MS);
    const cpuShare = (cpuMs(pid) - cpuBefore) / (performance.now() - beganAt);
    const seen = this.#delays(await this.#good.ask<Seen>({ type: 'collect' }));
    const kept = connectionsOf(addressOf(attack), this.#port);
    const during = await this.held();
    const made = await this.#hostile.ask<number>({ type: 'end' });
    await eventually(`no connection of "${attack.name}" is left`, GONE_DEADLINE_MS, async () => {
      return connectionsOf(addressOf(attack), this.#port) === 0;
    });
    const each = (bytes: number) => bytes / (attack.kind === 'stay' ? count : Math.max(kept, 1));
    const heapEach = each(during.heapBytes - before.heapBytes);
    return { attack, made, kept, heapEach, rssEach: each(during.rssBytes - before.rssBytes), cpuShare, seen };
  }
}

/**
 * Measures the time for which connections that stay are let stay; a subscriber's process stands still. @returns seconds by attack
 */
export async function lifetimes(port: number): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const crowds = ATTACKS.filter(({ ends }) => ends).map((attack) => ({
    attack,
    helper: new Helper<AttackersAsk>('attackers.ts').giveWay()
  }));
  await Promise.all(
    crowds.map(({ attack, helper }) => helper.ask({ type: 'begin', attack: attack.name, port, count: LIVES, etag: '' }))
  );
  const began = performance.now();
  for (const { attack, helper } of crowds) if (attack.ends === 'stopped') helper.child.kill('SIGSTOP');
  while (found.size < crowds.length && performance.now() - began < LONGEST_MS) {
    await sleep(500);
    for (const { attack } of crowds)
      if (!found.has(attack.name) && connectionsOf(addressOf(attack), port) === 0)
        found.set(attack.name, (performance.now() - began) / 1_000);
  }
  for (const { attack, helper } of crowds) {
    helper.end();
    console.log(`| ${attack.name} | ${found.get(attack.name)?.toFixed(0) ?? 'not cut'} s |`);
  }
  return found;
}
