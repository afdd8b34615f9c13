import { setTimeout as sleep } from 'node:timers/promises';
import type { ActorView } from '../../actors/actor-view.ts';
import type { Service } from './service.ts';
import type { System } from './system.ts';

const EVERY_MS = 200;

/** Looks at every service again and again. */
export class Monitor {
  readonly #system: System;
  /** When each was last asked and found well. */
  readonly #well = new Map<Service, number>();
  #ended = false;
  readonly #loop: Promise<unknown>;

  constructor(system: System) {
    this.#system = system;
    this.#loop = Promise.all(system.services.map((service) => this.#watch(service)));
  }

  async #watch(service: Service): Promise<void> {
    while (!this.#ended) {
      const asked = performance.now();
      if (await this.#isWell(service)) this.#well.set(service, asked);
      await sleep(EVERY_MS);
    }
  }

  /** By its present thread: what an earlier one reported counts no more. */
  async #isWell(service: Service): Promise<boolean> {
    if (service === this.#system.hub) return service.rpc('health').then((answer) => answer !== null);
    const actors = (await service.get('/debug/actors')) as readonly ActorView[] | null;
    const [actor] = actors ?? [];
    const { replica, source } = actor?.machines ?? {};
    return actor?.state === 'running' && (replica?.state === 'live' || source?.state.startsWith('polling') === true);
  }

  /** @returns how long it took until all were well again, in milliseconds; null: longer than the deadline */
  async recovery(services: readonly Service[], deadlineMs: number): Promise<number | null> {
    const since = performance.now();
    const isBack = (service: Service) => (this.#well.get(service) ?? 0) > since;
    while (!services.every(isBack)) {
      if (performance.now() - since > deadlineMs || this.#ended) return null;
      await sleep(EVERY_MS / 2);
    }
    return performance.now() - since;
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#loop;
  }
}
