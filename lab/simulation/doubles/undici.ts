import type { RequestOptions, Response } from '../host/network.ts';
import { stage } from '../host/stage.ts';

/** `undici` on the simulated network. */
export class Agent {
  request({ origin, path, ...options }: RequestOptions & { origin: string; path: string }): Promise<Response> {
    return stage.network.request(`${origin}${path}`, options);
  }

  async destroy(): Promise<void> {
    await Promise.resolve();
  }
}
