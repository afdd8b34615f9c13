import type { Socket } from 'node:net';
import rateLimit from '@fastify/rate-limit';

export interface ClientLimiterOptions {
  /** Connections that one address may have at once. */
  readonly maxPerAddress: number;
  /** Whom a connection counts for; undefined: nobody, as for a proxy of many. Default: its address, IPv6 by /64. */
  readonly addressOf?: (socket: Socket) => string | undefined;
  /** Told of each connection that was turned away. */
  readonly onTurnedAway?: () => void;
}

/** The bucket of each address, one token a request, and its refill: some tenth of a core. */
const BUCKET_TOKENS = 10_000;
const TOKENS_PER_S = 1_000;
/** Of bytes that break the protocol: up to 64 KiB of them were read, and a connection was opened for them. */
const FAULT_COST = 250;
/** Its chunks may have a byte each, and the parser hands them over one by one. */
export const CHUNKS_COST = 100;
/** A client that ignores Retry-After waits longer with each request. */
const HASTE_COST = 20;
const TIDY_EVERY = 1_000;

interface Client {
  readonly open: Set<Socket>;
  tokens: number;
  refilledAt: number;
}

/** Limits what one address may cost: its open connections, and its work by a token bucket. */
export class ClientLimiter {
  readonly #options: ClientLimiterOptions;
  readonly #clients = new Map<string, Client>();
  readonly #upgraded = new WeakSet<Socket>();

  constructor(options: ClientLimiterOptions) {
    this.#options = options;
  }

  /** Counts a connection, or ends it at once where its address has too many or no tokens left. */
  arrive(socket: Socket): void {
    const address = this.#addressOf(socket);
    if (address === undefined) return;
    const client = this.#clientAt(address);
    if (client.open.size >= this.#options.maxPerAddress || charge(client, 1) < 0) {
      socket.destroy();
      this.#options.onTurnedAway?.();
      return;
    }
    client.open.add(socket);
    socket.once('close', () => client.open.delete(socket));
  }

  /** From now on it speaks HTTP no more. */
  upgrade(socket: Socket): void {
    this.#upgraded.add(socket);
  }

  /** Counts a request. @returns the milliseconds that its answer is to wait */
  ask(socket: Socket): number {
    const address = this.#addressOf(socket);
    const tokens = address === undefined ? 0 : charge(this.#clientAt(address), 1);
    return tokens < 0 ? (-tokens / TOKENS_PER_S) * 1_000 : 0;
  }

  /** Counts a request that was refused because it came too soon (429). */
  refuse(socket: Socket): void {
    const address = this.#addressOf(socket);
    if (address !== undefined) charge(this.#clientAt(address), HASTE_COST);
  }

  /** Counts what breaks the rules, or may cost as much; without tokens, all that its address has open is ended, but its WebSockets. */
  fail(socket: Socket, cost = FAULT_COST): void {
    const address = this.#addressOf(socket);
    if (address === undefined) return;
    const client = this.#clientAt(address);
    if (charge(client, cost) >= 0) return;
    for (const each of client.open) if (!this.#upgraded.has(each)) each.destroy();
  }

  #addressOf(socket: Socket): string | undefined {
    const { addressOf = ({ remoteAddress = '' }) => rateLimit.normalizeIP(remoteAddress) } = this.#options;
    return addressOf(socket);
  }

  #clientAt(address: string): Client {
    const known = this.#clients.get(address);
    if (known) return known;
    if (this.#clients.size % TIDY_EVERY === TIDY_EVERY - 1) this.#tidy();
    const client = { open: new Set<Socket>(), tokens: BUCKET_TOKENS, refilledAt: performance.now() };
    this.#clients.set(address, client);
    return client;
  }

  /** Forgets addresses without a connection whose bucket is full. */
  #tidy(): void {
    for (const [address, client] of this.#clients)
      if (client.open.size === 0 && charge(client, 0) === BUCKET_TOKENS) this.#clients.delete(address);
  }
}

/** @returns the tokens left; the debt is at most what one second brings */
function charge(client: Client, cost: number): number {
  const now = performance.now();
  const refill = ((now - client.refilledAt) * TOKENS_PER_S) / 1_000;
  client.tokens = Math.max(Math.min(client.tokens + refill, BUCKET_TOKENS) - cost, -TOKENS_PER_S);
  client.refilledAt = now;
  return client.tokens;
}
