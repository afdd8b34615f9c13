import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

const PAUSE_MS = 10;
const PATIENCE_MS = 10_000;
/** Pages asked for before anything is measured. */
const WARM_UP = 20;
const BASE = 'decoder/litecoin/regtest';

export type GoodClientsAsk =
  /** Answers with the entity tag of a snapshot. */
  | { readonly type: 'begin'; readonly port: number }
  /** Answers with what was seen since the last time. */
  | { readonly type: 'collect' };

/** Milliseconds of each answer and download; heights with their times of receipt; and what went wrong. */
export interface Seen {
  status: number[];
  download: number[];
  blocks: [height: number, at: number][];
  faults: string[];
}

const nothing = (): Seen => ({ status: [], download: [], blocks: [], faults: [] });
const now = () => performance.timeOrigin + performance.now();

/** One who asks how things are, one who downloads, and one who subscribes: in a process of their own. */
class GoodClients {
  #seen = nothing();
  #lastHeight: number | null = null;

  /** With at least one download, which may take longer than all else that is looked at. */
  async collect(): Promise<Seen> {
    while (this.#seen.download.length === 0 && this.#seen.faults.length === 0) await sleep(PAUSE_MS);
    const seen = this.#seen;
    this.#seen = nothing();
    return seen;
  }

  /** @returns the entity tag of a snapshot */
  async begin(port: number): Promise<string> {
    const url = `http://127.0.0.1:${port}`;
    const whole = await ask(`${url}/snapshot/${BASE}`, {}, new Agent());
    for (let n = 0; n < WARM_UP; n++) await ask(`${url}/snapshot-rows/${BASE}/index_transactions`, {}, new Agent());
    const resumed = { 'if-range': whole.etag, range: 'bytes=0-' };
    void this.#repeat('status', `${url}/status`, {});
    void this.#repeat('download', `${url}/snapshot/${BASE}`, resumed);
    this.#subscribe(`ws://127.0.0.1:${port}/subscribe/${BASE}`);
    return whole.etag;
  }

  async #repeat(what: 'status' | 'download', url: string, headers: Record<string, string>): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (;;) {
      const began = performance.now();
      try {
        await ask(url, headers, agent);
        this.#seen[what].push(performance.now() - began);
      } catch (caught) {
        this.#seen.faults.push(`${what}: ${String(caught)}`);
      }
      await sleep(what === 'status' ? PAUSE_MS : 10 * PAUSE_MS);
    }
  }

  #subscribe(url: string): void {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('error', () => undefined);
    socket.on('close', () => this.#seen.faults.push('the subscriber was dropped'));
    socket.on('message', (data: Buffer) => {
      const height = /"block_index":(\d+)/.exec(data.toString('latin1', 0, 400))?.[1];
      if (height === undefined) return;
      this.#seen.blocks.push([Number(height), now()]);
      if (this.#lastHeight !== null && Number(height) !== this.#lastHeight + 1)
        this.#seen.faults.push(`block ${height} after ${this.#lastHeight}`);
      this.#lastHeight = Number(height);
    });
  }
}

function ask(url: string, headers: Record<string, string>, agent: Agent): Promise<{ readonly etag: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly etag: string }>();
  get(url, { agent, headers, signal: AbortSignal.timeout(PATIENCE_MS) }, (response) => {
    const isWell = response.statusCode === 200 || response.statusCode === 206;
    response.on('error', reject).on('end', () => {
      if (isWell) resolve({ etag: String(response.headers.etag) });
      else reject(new Error(`${response.statusCode}`));
    });
    response.resume();
  }).on('error', reject);
  return promise;
}

const clients = new GoodClients();

process.on('message', async (message: GoodClientsAsk) => {
  process.send?.(message.type === 'begin' ? await clients.begin(message.port) : await clients.collect());
});
