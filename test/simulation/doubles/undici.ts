import type { RequestOptions, Response } from '../network.ts';
import { stage } from '../stage.ts';

/** `undici` on the simulated network. */
export class Agent {
  async destroy(): Promise<void> {
    await Promise.resolve();
  }
}

export const request = (url: string, options: RequestOptions): Promise<Response> => stage.network.request(url, options);
