import { WebSocket } from 'ws';

const RECONNECT_MS = 300;

/** A subscriber that reads at once, and notes where heights are not in order. */
export class Subscriber {
  readonly violations: string[] = [];
  /** Blocks that reached it. */
  received = 0;
  readonly #url: string;
  readonly #key: string;
  #socket: WebSocket | null = null;
  #ended = false;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
    this.#connect();
  }

  #connect(): void {
    if (this.#ended) return;
    const socket = new WebSocket(this.#url, { headers: { authorization: `Bearer ${this.#key}` } });
    this.#socket = socket;
    /** The next height of this connection; null before the first block. */
    let next: number | null = null;
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as { type: string; block_index?: number };
      const height = message.block_index;
      if (height === undefined) return;
      if (message.type === 'reorg') {
        if (next !== null && height > next) this.violations.push(`a reorg at ${height}, above the next block ${next}`);
        next = next === null ? null : Math.min(next, height);
      }
      if (message.type !== 'block') return;
      this.received += 1;
      if (next !== null && height !== next)
        this.violations.push(`${this.#url}: block ${height} came where ${next} was due`);
      next = height + 1;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => setTimeout(() => this.#connect(), RECONNECT_MS).unref());
  }

  end(): void {
    this.#ended = true;
    this.#socket?.terminate();
  }
}
