import type { RequestOptions, Response } from '../network.ts';
import { stage } from '../stage.ts';

/** `undici` on the simulated network. */
export class Agent {
  request({ origin, path, ...options }: RequestOptions & { origin: string; path: string }): Promise<Response> {
    return stage.network.request(`${origin}${path}`, options);
  }

  async destroy(): Promise<void> {
    await Promise.resolve();
  }
}
