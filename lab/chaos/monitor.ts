import { setTimeout as sleep } from 'node:timers/promises';
import type { ActorView } from '../../src/wire/state/actor-view.ts';
import type { Service } from './service.ts';
import { isIndexed, type System } from './system.ts';

const EVERY_MS = 200;
/** The hub, a replica and a source. */
const WELL = /^running( live| polling.*)?$/;

/** Blocks that an indexer may lack while more are written all the time. */
const LAG = 3;

export interface Recovery {
  readonly ms: number;
  /** Services that were not well in time. */
  readonly late: readonly Service[];
}

/** Called with a service's state when it changes. */
type Tell = (line: string) => void;

const LINES = 40;

/** Returns the last lines of a service, without its callers' requests. */
function lastLines(service: Service): string {
  const lines = service.log().trimEnd().split('\n');
  return lines
    .filter((line) => !/"request (failed|refused)"/.test(line))
    .slice(-LINES)
    .join('\n');
}

/** Looks at every service again and again. */
export class Monitor {
  readonly #system: System;
  /** When each was last asked and found well. */
  readonly #well = new Map<Service, number>();
  readonly #tell: Tell;
  #ended = false;
  readonly #loop: Promise<unknown>;

  constructor(system: System, tell: Tell) {
    this.#system = system;
    this.#tell = tell;
    this.#loop = Promise.all(system.services.map((service) => this.#watch(service)));
  }

  async #watch(service: Service): Promise<void> {
    for (let before = ''; !this.#ended; await sleep(EVERY_MS)) {
      const asked = performance.now();
      const state = await this.#look(service);
      if (WELL.test(state)) this.#well.set(service, asked);
      if (state !== before) this.#tell(`${service.name} ${state}`);
      // Why it is, and what it said before: nobody can ask it later.
      if (state !== before && state.includes('halted')) this.#tell(lastLines(service));
      before = state;
    }
  }

  /** By its present thread: what an earlier one reported counts no more. */
  async #look(service: Service): Promise<string> {
    if (service === this.#system.indexed?.service) return (await isIndexed(service, LAG)) ? 'running' : 'not there';
    if (service === this.#system.hub) return (await service.rpc('health')) === null ? 'silent' : 'running';
    const actors = (await service.get('/debug/actors')) as readonly ActorView[] | null;
    if (!actors) return 'silent';
    const [actor] = actors;
    const { replica, source } = actor?.machines ?? {};
    return `${actor?.state ?? 'without an actor'} ${replica?.state ?? source?.state ?? ''}`;
  }

  /** @returns how long it took until all were well again; those that were not before the deadline */
  async recovery(services: readonly Service[], deadlineMs: number): Promise<Recovery> {
    const since = performance.now();
    for (;;) {
      const ms = performance.now() - since;
      const late = services.filter((service) => (this.#well.get(service) ?? 0) <= since);
      if (late.length === 0 || ms > deadlineMs || this.#ended) return { ms, late };
      await sleep(EVERY_MS / 2);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#loop;
  }
}
