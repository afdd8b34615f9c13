import type { Socket } from 'node:net';
import rateLimit from '@fastify/rate-limit';

export interface CallersOptions {
  /** Connections that one address may have at once. */
  readonly maxPerAddress: number;
  /** Whom a connection counts for; undefined: nobody, as for a proxy of many. Default: its address, IPv6 by /64. */
  readonly addressOf?: (socket: Socket) => string | undefined;
  /** Told of each connection that was turned away. */
  readonly onTurnedAway?: () => void;
}

/** What an address may ask for at once, and in each second from then on: some tenth of a core. */
const MOST_CREDIT = 10_000;
const CREDIT_PER_S = 1_000;
/** Whatever it is, 64 KiB of it are read at once, and its connection was for nothing. */
const FAULT_COST = 250;
/** Its chunks may have a byte each, and the parser hands them over one by one. */
export const CHUNKS_COST = 100;
/** Who does not wait as it was told to: its answers come later and later. */
const HASTE_COST = 20;
const TIDY_EVERY = 1_000;

interface Caller {
  readonly open: Set<Socket>;
  credit: number;
  creditAt: number;
}

/** Who is at the door: how many connections each address has, and how much work it makes. */
export class Callers {
  readonly #options: CallersOptions;
  readonly #callers = new Map<string, Caller>();
  readonly #upgraded = new WeakSet<Socket>();

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** Counts a connection, or ends it at once where its address has too many or has used up its credit. */
  arrive(socket: Socket): void {
    const address = this.#addressOf(socket);
    if (address === undefined) return;
    const caller = this.#callerAt(address);
    if (caller.open.size >= this.#options.maxPerAddress || charge(caller, 1) < 0) {
      socket.destroy();
      this.#options.onTurnedAway?.();
      return;
    }
    caller.open.add(socket);
    socket.once('close', () => caller.open.delete(socket));
  }

  /** From now on it speaks HTTP no more. */
  upgrade(socket: Socket): void {
    this.#upgraded.add(socket);
  }

  /** Counts a request. @returns the milliseconds that its answer is to wait */
  ask(socket: Socket): number {
    const address = this.#addressOf(socket);
    const credit = address === undefined ? 0 : charge(this.#callerAt(address), 1);
    return credit < 0 ? (-credit / CREDIT_PER_S) * 1_000 : 0;
  }

  /** Counts a request that was refused because it came too soon (429). */
  refuse(socket: Socket): void {
    const address = this.#addressOf(socket);
    if (address !== undefined) charge(this.#callerAt(address), HASTE_COST);
  }

  /** Counts what breaks the rules, or may cost as much; without credit, all that its address has open is ended, but its WebSockets. */
  fail(socket: Socket, cost = FAULT_COST): void {
    const address = this.#addressOf(socket);
    if (address === undefined) return;
    const caller = this.#callerAt(address);
    if (charge(caller, cost) >= 0) return;
    for (const each of caller.open) if (!this.#upgraded.has(each)) each.destroy();
  }

  #addressOf(socket: Socket): string | undefined {
    const { addressOf = ({ remoteAddress = '' }) => rateLimit.normalizeIP(remoteAddress) } = this.#options;
    return addressOf(socket);
  }

  #callerAt(address: string): Caller {
    const known = this.#callers.get(address);
    if (known) return known;
    if (this.#callers.size % TIDY_EVERY === TIDY_EVERY - 1) this.#tidy();
    const caller = { open: new Set<Socket>(), credit: MOST_CREDIT, creditAt: performance.now() };
    this.#callers.set(address, caller);
    return caller;
  }

  /** Forgets those who are as they would be if they had never come. */
  #tidy(): void {
    for (const [address, caller] of this.#callers)
      if (caller.open.size === 0 && charge(caller, 0) === MOST_CREDIT) this.#callers.delete(address);
  }
}

/** @returns what is left; below 0 no further than what a second brings */
function charge(caller: Caller, cost: number): number {
  const now = performance.now();
  const earned = ((now - caller.creditAt) * CREDIT_PER_S) / 1_000;
  caller.credit = Math.max(Math.min(caller.credit + earned, MOST_CREDIT) - cost, -CREDIT_PER_S);
  caller.creditAt = now;
  return caller.credit;
}
