import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DigestKey } from '../../../../src/wire/data/digest.ts';

export const BASE = 'indexer/litecoin/regtest';

/** Behaviour of callers that should be no concern of others. */
export type Neighbours = 'questions' | 'digests' | 'slow readers' | 'leavers';

export type NeighbourCrowdAsk =
  | { readonly type: 'begin'; readonly what: Neighbours; readonly port: number; readonly heights: number }
  /** Ends them. Answers with how often each status was answered. */
  | { readonly type: 'end' };

const QUESTIONS = 200;
const DIGESTS = 256;
const READERS = 50;
const LEAVERS_PER_S = 25;
/** Addresses of each kind: of the questions one, of the others a few. */
const ADDRESSES: Readonly<Record<Neighbours, number>> = { questions: 1, digests: 4, 'slow readers': 4, leavers: 4 };

/** ClientLimiter of a few addresses, in a process of their own. */
class NeighbourCrowd {
  readonly #statuses: Record<string, number> = {};
  readonly #open = new Set<ClientRequest>();
  #port = 0;
  #addresses = 1;
  #key = '';
  #ended = false;

  begin(what: Neighbours, port: number, heights: number): null {
    this.#port = port;
    this.#addresses = ADDRESSES[what];
    if (what === 'questions') for (let n = 0; n < QUESTIONS; n++) void this.#keepAsking(n);
    if (what === 'digests') void this.#keepKey();
    if (what === 'digests')
      void this.#askAndLeave(
        DIGESTS,
        2_000,
        (n) => `/digest/${BASE}?table=weight&from=100&to=${1_000 + n}&key=${this.#key}`
      );
    if (what === 'leavers')
      void this.#askAndLeave(LEAVERS_PER_S, 1_000, (n) => `/snapshot/${BASE}/since/${n % heights}`);
    if (what === 'slow readers')
      for (let n = 0; n < READERS; n++)
        this.#ask('GET', `/snapshot/${BASE}/since/${n % heights}`, n).then(
          (response) => response.pause(),
          () => undefined
        );
    return null;
  }

  end(): Record<string, number> {
    this.#ended = true;
    for (const asked of this.#open) asked.destroy();
    return this.#statuses;
  }

  /** Keeps the key of the newest tip, as a real caller would have it. */
  async #keepKey(): Promise<void> {
    for (; !this.#ended; await sleep(100)) {
      const answer = await fetch(`http://127.0.0.1:${this.#port}/digest/${BASE}/key`).catch(() => undefined);
      if (answer?.ok) this.#key = ((await answer.json()) as DigestKey).key;
    }
  }

  async #keepAsking(number: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const paths = [`/schema/${BASE}`, `/transparency/${BASE}/roots?limit=1000`, `/transparency/${BASE}/proof/105`];
    for (let n = number; !this.#ended; n++) {
      const [method, path] = n % 4 === 3 ? ['HEAD', `/snapshot/${BASE}`] : ['GET', paths[n % 4]!];
      const response = await this.#ask(method!, path!, number, agent).catch(() => undefined);
      response?.resume();
      if (response) await new Promise((resolve) => response.once('close', resolve));
      else await sleep(10);
    }
  }

  async #askAndLeave(count: number, everyMs: number, path: (n: number) => string): Promise<void> {
    for (let n = 0; !this.#ended; n++) {
      const asked = this.#begin('GET', path(n), n);
      asked.on('response', (response) => {
        this.#count(response.statusCode);
        asked.destroy();
      });
      if (n % 2) setTimeout(() => asked.destroy(), 20);
      await sleep(everyMs / count);
    }
  }

  #begin(method: string, path: string, number: number, agent?: Agent): ClientRequest {
    const localAddress = `127.0.1.${1 + (number % this.#addresses)}`;
    const asked = request({ host: '127.0.0.1', port: this.#port, method, path, localAddress, agent: agent ?? false });
    this.#open.add(asked);
    asked.on('error', () => undefined);
    asked.once('close', () => this.#open.delete(asked));
    asked.end();
    return asked;
  }

  async #ask(method: string, path: string, number: number, agent?: Agent): Promise<IncomingMessage> {
    const asked = this.#begin(method, path, number, agent);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    asked
      .once('response', resolve)
      .once('error', reject)
      .once('close', () => reject(new Error('closed')));
    const response = await promise;
    response.on('error', () => undefined);
    this.#count(response.statusCode);
    return response;
  }

  #count(status = 0): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }
}

const crowd = new NeighbourCrowd();

process.on('message', (ask: NeighbourCrowdAsk) => {
  process.send?.(ask.type === 'begin' ? crowd.begin(ask.what, ask.port, ask.heights) : crowd.end());
});
