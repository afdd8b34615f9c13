import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createPeerReader } from '../callers/address.ts';
import { Crowd } from './crowd.ts';
import { WorkBudget } from './work-budget.ts';

interface ClientLimiterOptions {
  /** Connections that one address may have at once. */
  readonly maxPerAddress: number;
  /** Connections of all addresses at once, on all ports. Default: any number. */
  readonly maxConnections?: number;
  /** Returns the address that a connection counts for; undefined: none, as for a proxy of many. Default: its own, IPv6 by /64. */
  readonly addressOf?: (socket: Socket) => string | undefined;
  /** Returns the address that a request counts for. Default: that of its connection. */
  readonly callerOf?: (request: IncomingMessage) => string;
  /** Budget of work for each address. */
  readonly budget?: WorkBudget;
  /** Called for each connection that was turned away. */
  readonly onTurnedAway?: () => void;
}

/** Cost of bytes that break the protocol: up to 64 KiB were read, and a connection was opened for them. */
const FAULT_COST = 250;
/** Its chunks may have a byte each, and the parser hands them over one by one. */
export const CHUNKS_COST = 100;
/** A client that ignores Retry-After waits longer with each request. */
const HASTE_COST = 20;
/** Cost of a wrong key: forty at once, then four a second. */
const WRONG_KEY_COST = 250;
/** Cost of a TLS handshake: a millisecond of a core. */
const HANDSHAKE_COST = 10;
/** Cost of a request that becomes a WebSocket: its objects stay in memory. */
const UPGRADE_COST = 10;

const peerOf = createPeerReader();

/** Limits what one address may cost: its open connections, and its work by a token bucket. @see WorkBudget */
export class ClientLimiter {
  readonly #options: ClientLimiterOptions;
  readonly #budget: WorkBudget;
  readonly #open = new Crowd<Socket>();
  readonly #upgraded = new WeakSet<Socket>();
  /** Takes a connection that stays out of the counts. */
  readonly #leave = new WeakMap<Socket, () => void>();
  #count = 0;

  constructor(options: ClientLimiterOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new WorkBudget();
  }

  /**
   * Counts a connection, or ends it at once where its address has too many, no tokens left, or no fewer than any other, its network
   * too, while all places are taken.
   *
   * @param isSecure it begins with a handshake, which costs more
   * @returns whether it stays
   */
  arrive(socket: Socket, isSecure = false): boolean {
    const { maxPerAddress, maxConnections = Number.POSITIVE_INFINITY, onTurnedAway } = this.#options;
    const address = this.#addressOf(socket);
    const waitMs = address === undefined ? 0 : this.#budget.request(address, isSecure ? HANDSHAKE_COST : 1);
    const isFull = (address !== undefined && this.#open.of(address).size >= maxPerAddress) || waitMs > 0;
    if (isFull || (this.#count >= maxConnections && !this.#makeRoom(address))) {
      socket.destroy();
      onTurnedAway?.();
      return false;
    }
    this.#count++;
    if (address !== undefined) this.#open.add(address, socket);
    const leave = () => {
      if (!this.#leave.delete(socket)) return;
      this.#count--;
      if (address !== undefined) this.#open.delete(address, socket);
    };
    this.#leave.set(socket, leave);
    socket.once('close', leave);
    return true;
  }

  /** Ends the connection that gives way. It leaves the counts at once, since `close` comes late. @see Crowd.whoGivesWay */
  #makeRoom(address: string | undefined): boolean {
    const newest = this.#open.whoGivesWay(address);
    if (newest === undefined) return false;
    newest.destroy();
    this.#leave.get(newest)?.();
    return true;
  }

  /** Counts a request after which its connection speaks HTTP no more. @returns the milliseconds that its answer is to wait */
  upgrade(request: IncomingMessage): number {
    const { remotePort } = request.socket;
    // Where TLS is spoken, the socket that was counted is the one below.
    for (const each of this.#open.of(this.#addressOf(request.socket) ?? ''))
      if (each.remotePort === remotePort) this.#upgraded.add(each);
    return this.#charge(request, UPGRADE_COST);
  }

  /** Counts a request. @returns the milliseconds that its answer is to wait */
  ask(request: IncomingMessage): number {
    return this.#charge(request, 1);
  }

  /** Counts a request that was refused because it came too soon (429), or because its address holds too much (503). */
  refuse(request: IncomingMessage): void {
    this.#charge(request, HASTE_COST);
  }

  /** Counts a request with a wrong key: the more there were, the longer the next ones wait. */
  refuseKey(request: IncomingMessage): void {
    this.#charge(request, WRONG_KEY_COST);
  }

  /** Counts what breaks the rules, or may cost as much; without tokens, all that its address has open is ended, but its WebSockets. */
  fail(socket: Socket, cost = FAULT_COST): void {
    const address = this.#addressOf(socket);
    if (address === undefined || this.#budget.request(address, cost) === 0) return;
    for (const each of [...this.#open.of(address)]) if (!this.#upgraded.has(each)) each.destroy();
  }

  #charge(request: IncomingMessage, tokens: number): number {
    const address = this.#options.callerOf?.(request) ?? this.#addressOf(request.socket);
    if (address === undefined) return 0;
    return Math.max(this.#budget.request(address, tokens), this.#budget.charge(address, {}));
  }

  #addressOf(socket: Socket): string | undefined {
    const { addressOf = peerOf } = this.#options;
    return addressOf(socket);
  }
}
