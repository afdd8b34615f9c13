import { EventEmitter } from 'node:events';
import { current, type Scheduler } from './scheduler.ts';

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | null;
}

/** Answer of a server. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Called when the whole of it has arrived. */
  readonly arrived?: () => void;
}

/** The same as `undici` gives it. */
export interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The client's end of a live stream, as its double makes it. */
interface ClientSocket extends EventEmitter {
  readyState: number;
}

/** The server's end of a live stream. */
export interface ServerSocket {
  send(text: string, arrived?: () => void): void;
  /** Breaks it off. */
  cut(): void;
}

/** A host of the simulated network. */
export interface Peer {
  readonly isUp: boolean;
  answer(path: string): Reply;
  subscribed(socket: ServerSocket): void;
  left(socket: ServerSocket): void;
}

/** Probabilities of faults, each from 0 to 1. */
export interface NetworkFaults {
  readonly refused: number;
  readonly reset: number;
  readonly stalled: number;
  readonly busy: number;
  readonly cut: number;
  readonly slow: number;
}

const LATENCY_MS = [1, 40] as const;
const SLOW_MS = [200, 8_000] as const;
const STALL_MS = 60_000;

const broken = (code: string) => Object.assign(new Error(`the simulated network: ${code}`), { code });

/** A body on its way: in parts, perhaps cut off before its end. */
class Body extends EventEmitter {
  readonly #scheduler: Scheduler;
  readonly #bytes: Buffer;
  readonly #cutAt: number | null;
  readonly #arrived: (() => void) | undefined;

  constructor(scheduler: Scheduler, { body, arrived }: Reply, cutAt: number | null) {
    super();
    this.#scheduler = scheduler;
    this.#bytes = body;
    this.#cutAt = cutAt;
    this.#arrived = arrived;
  }

  destroy(): this {
    return this;
  }

  async dump(): Promise<void> {
    for await (const _ of this);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const half = this.#bytes.length >> 1;
    const parts =
      this.#cutAt === null
        ? [this.#bytes.subarray(0, half), this.#bytes.subarray(half)]
        : [this.#bytes.subarray(0, this.#cutAt)];
    for (const part of parts) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#scheduler.after(this.#scheduler.delay(...LATENCY_MS), resolve);
      await promise;
      yield part;
    }
    if (this.#cutAt !== null) throw broken('UND_ERR_SOCKET');
    this.#arrived?.();
  }
}

/** Requests and live streams between replicas and sources, with what a TCP connection may suffer: bytes never change places. */
export class Network {
  readonly #scheduler: Scheduler;
  readonly #peers = new Map<string, Peer>();
  readonly #sockets = new Set<ServerSocket>();
  faults: NetworkFaults;

  constructor(scheduler: Scheduler, faults: NetworkFaults) {
    this.#scheduler = scheduler;
    this.faults = faults;
  }

  add(url: string, peer: Peer): void {
    this.#peers.set(url.replace(/^\w+:/, ''), peer);
  }

  /** Breaks off every live stream. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.cut();
  }

  #find(url: string): { readonly peer: Peer; readonly path: string } {
    const [, host = '', path = ''] = /^\w+:(\/\/[^/]+)(\/.*)$/.exec(url) ?? [];
    const peer = this.#peers.get(host);
    if (!peer) throw broken('ENOTFOUND');
    return { peer, path };
  }

  #latency(): number {
    const { chance, delay } = { chance: this.#scheduler.chance(this.faults.slow), delay: this.#scheduler };
    return chance ? delay.delay(...SLOW_MS) : delay.delay(...LATENCY_MS);
  }

  request(url: string, { signal }: RequestOptions): Promise<Response> {
    const { peer, path } = this.#find(url);
    const scheduler = this.#scheduler;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const stop = () => reject(signal!.reason as Error);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    const settle = (work: () => void) => {
      signal?.removeEventListener('abort', stop);
      work();
    };
    scheduler.after(this.#latency(), () => {
      const { refused, reset, stalled, busy } = this.faults;
      if (!peer.isUp || scheduler.chance(refused)) return settle(() => reject(broken('ECONNREFUSED')));
      if (scheduler.chance(stalled)) {
        scheduler.after(STALL_MS, () => settle(() => reject(broken('UND_ERR_HEADERS_TIMEOUT'))));
        return;
      }
      const reply = scheduler.chance(busy) ? tooBusy(scheduler) : peer.answer(path);
      scheduler.after(this.#latency(), () => {
        if (scheduler.chance(reset)) return settle(() => reject(broken('ECONNRESET')));
        const cutAt = scheduler.chance(this.faults.cut)
          ? Math.floor(reply.body.length * scheduler.random.next())
          : null;
        const body = new Body(scheduler, reply, cutAt);
        settle(() => resolve({ statusCode: reply.status, headers: reply.headers, body }));
      });
    });
    return promise;
  }

  /** @returns what the client calls when it lets go of its end */
  open(url: string, client: ClientSocket): () => void {
    const { peer } = this.#find(url);
    const scheduler = this.#scheduler;
    const life = current.getStore() ?? null;
    const isOpen = () => client.readyState < 3 && life?.isAlive !== false;
    let clearAt = 0;
    /** In order, each after the one before. */
    const deliver = (work: () => void) => {
      clearAt = Math.max(clearAt, scheduler.now + this.#latency());
      scheduler.after(clearAt - scheduler.now, () => isOpen() && work(), life);
    };
    const gone = () => {
      if (this.#sockets.delete(server)) peer.left(server);
    };
    const server: ServerSocket = {
      send: (text, arrived) => {
        if (scheduler.chance(this.faults.cut)) return server.cut();
        deliver(() => {
          arrived?.();
          client.emit('message', Buffer.from(text));
        });
      },
      cut: () => {
        gone();
        deliver(() => {
          client.readyState = 3;
          client.emit('close', 1006, Buffer.alloc(0));
        });
      }
    };
    scheduler.after(this.#latency(), () => {
      if (!isOpen()) return;
      if (!peer.isUp || scheduler.chance(this.faults.refused)) {
        client.readyState = 3;
        client.emit('error', broken('ECONNREFUSED'));
        return;
      }
      client.readyState = 1;
      client.emit('open');
      this.#sockets.add(server);
      peer.subscribed(server);
    });
    return () => scheduler.after(this.#latency(), gone, null);
  }
}

function tooBusy(scheduler: Scheduler): Reply {
  const headers: Record<string, string> = scheduler.chance(0.5)
    ? { 'retry-after': String(scheduler.random.between(1, 20)) }
    : {};
  return { status: 503, headers, body: Buffer.from('{"error":"busy"}') };
}
