import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { TransientMap } from '../../transient-map.ts';
import { prefixOf } from '../callers/prefix.ts';
import { Bodies, type Held, type Holder, heldOf, type Part } from './bodies.ts';
import { PacedBody } from './sending.ts';

/** All connections together may hold one each that is smaller. */
const SMALL_BYTES = 4 * 1024;
/** A larger answer is sent in pieces. */
const LARGE_BYTES = 128 * 1024;
const PIECE_BYTES = 64 * 1024;

const NOTHING_HELD: Part = { progress: () => undefined, settle: () => undefined, release: () => undefined };

/** Limits on the bytes that bodies may hold, and on the time. */
export interface BodyLimits {
  /** Most bytes of all bodies that are not yet taken; `shareBytes`: of those of one address. Twice as much may wait for room. */
  readonly mostBytes: number;
  readonly shareBytes: number;
  /** Most bytes of one network that wait for room; default: as many as an address may hold. */
  readonly waitShareBytes?: number;
  /** Longest time that a body waits for room. */
  readonly patienceMs: number;
  /** Over all of its time a body that others wait for must be taken at so many bytes a second, */
  readonly leastPace: number;
  /** and something of it within this time: the kernel takes some megabytes that its reader has not. */
  readonly stallMs: number;
  /** The first moment of a body, in which nobody else may have its room. */
  readonly graceMs: number;
}

const LIMITS: BodyLimits = {
  mostBytes: 48 * 2 ** 20,
  shareBytes: 16 * 2 ** 20,
  patienceMs: 15_000,
  leastPace: 256 * 1024,
  stallMs: 10_000,
  graceMs: 2_000
};
const LOOK_MS = 100;

/**
 * Bounds what waits in memory for clients that do not read, or do not send the rest, by who holds it.
 *
 * Each address has a share; its further bodies wait until earlier ones are taken. While all together hold too much, the slowest of a
 * network that holds more than others may is ended: nobody else waits for it. A single body of an address always has room in its
 * share.
 */
export class HeldBodies {
  readonly #all = new Bodies();
  readonly #ofAddress = new TransientMap<string, Bodies>();
  readonly #ofNetwork = new TransientMap<string, Bodies>();
  /** Bytes that wait for room, by network. */
  readonly #waiting = new TransientMap<string, number>();
  #waitingBytes = 0;
  /** Bodies of networks that hold more than their part, slowest last, as they were at some time. */
  #greedy: { readonly at: number; readonly held: Held[] } = { at: Number.NEGATIVE_INFINITY, held: [] };
  readonly #limits: BodyLimits;

  constructor(limits: Partial<BodyLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Counts an answer. @returns what to send instead: a large body in pieces. @throws {PlatformError} ANSWERS_WAITING */
  async hold(address: string, reply: FastifyReply, payload: unknown): Promise<unknown> {
    if (payload instanceof PacedBody) payload.count = (piece) => this.take(address, reply.raw, piece);
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
    if (payload.length <= SMALL_BYTES) return payload;
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const part = await this.take(address, reply.raw, body);
    reply.raw.once('close', part.release);
    if (body.length <= LARGE_BYTES) return body;
    reply.header('content-length', body.length);
    return Readable.from(pieces(body, part), { objectMode: false, highWaterMark: PIECE_BYTES });
  }

  /**
   * Counts a body, when there is room for it, until it is released. @param holder is ended where others need the room
   * @throws {PlatformError} ANSWERS_WAITING
   */
  async take(address: string, holder: Holder, body: Pick<Buffer, 'length'>): Promise<Part> {
    if (body.length <= SMALL_BYTES) return NOTHING_HELD;
    if (!this.#hasRoom(address, body)) await this.#wait(address, holder, body);
    const held = heldOf(address, holder, body);
    for (const bodies of this.#countsOf(held)) bodies.add(held);
    return {
      progress: (bytes) => Object.assign(held, { takenBytes: bytes, takenAt: performance.now() }),
      settle: (bytes) => this.#settle(held, bytes),
      release: () => this.#forget(held)
    };
  }

  #countsOf({ address, network }: Held): Bodies[] {
    const bodiesIn = (map: TransientMap<string, Bodies>, key: string) => {
      const bodies = map.get(key) ?? new Bodies();
      map.set(key, bodies);
      return bodies;
    };
    return [this.#all, bodiesIn(this.#ofAddress, address), bodiesIn(this.#ofNetwork, network)];
  }

  #settle(held: Held, bytes: number): void {
    if (!this.#all.held.has(held)) return;
    const counts = this.#countsOf(held);
    for (const bodies of counts) bodies.remove(held);
    Object.assign(held, { body: { length: bytes }, isWhole: true });
    for (const bodies of counts) bodies.add(held);
  }

  #forget(held: Held): void {
    if (!this.#all.held.has(held)) return;
    for (const bodies of this.#countsOf(held)) bodies.remove(held);
    const { address, network } = held;
    if (this.#ofAddress.get(address)?.held.size === 0) this.#ofAddress.delete(address);
    if (this.#ofNetwork.get(network)?.held.size === 0) this.#ofNetwork.delete(network);
  }

  async #wait(address: string, holder: Holder, body: Held['body']): Promise<void> {
    const { mostBytes, shareBytes, waitShareBytes = shareBytes, patienceMs } = this.#limits;
    const network = prefixOf(address, 48);
    const before = this.#waiting.get(network) ?? 0;
    const all = this.#waitingBytes + body.length;
    // The second half is for those of whom nothing waits yet.
    if (before > 0 && (before + body.length > waitShareBytes || all > mostBytes)) this.#refuse(address);
    if (all > 2 * mostBytes) this.#refuse(address);
    this.#waiting.set(network, before + body.length);
    this.#waitingBytes = all;
    try {
      for (const until = performance.now() + patienceMs; !this.#hasRoom(address, body); ) {
        if (performance.now() > until || holder.destroyed) this.#refuse(address);
        this.#makeRoom(address, body);
        if (!this.#hasRoom(address, body)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
      if (holder.destroyed) this.#refuse(address); // nobody would release it
    } finally {
      this.#waitingBytes -= body.length;
      const left = this.#waiting.get(network)! - body.length;
      if (left > 0) this.#waiting.set(network, left);
      else this.#waiting.delete(network);
    }
  }

  #refuse(address: string): never {
    const own = this.#ofAddress.get(address)?.held.size ?? 0;
    const reason = `${own} large answers to this address or requests of it, and ${this.#all.held.size - own} of others, are not at their end`;
    throw new PlatformError('ANSWERS_WAITING', { reason });
  }

  #hasRoom(address: string, body: Held['body']): boolean {
    const { mostBytes, shareBytes } = this.#limits;
    const own = bytesWith(this.#ofAddress.get(address), body);
    const isAlone = own === body.length;
    return (isAlone || own <= shareBytes) && (this.#all.held.size === 0 || this.#all.bytesWith(body) <= mostBytes);
  }

  /** Ends the slowest body of the address itself where it is late, or of a network that holds more than its part. */
  #makeRoom(address: string, body: Held['body']): void {
    const now = performance.now();
    const own = [...(this.#ofAddress.get(address)?.held ?? [])].filter((held) => this.#isLate(held, now));
    const isFull = this.#all.bytesWith(body) > this.#limits.mostBytes;
    const other = isFull ? this.#greedyOne(address, body, now) : undefined;
    const [slowest] = [...own, ...(other ? [other] : [])].sort((a, b) => paceOf(a, now) - paceOf(b, now));
    if (!slowest) return;
    slowest.holder.destroy();
    this.#forget(slowest);
  }

  /** Finds the slowest body of a network beyond its part. Another such network gets only the room of late ones. */
  #greedyOne(address: string, body: Held['body'], now: number): Held | undefined {
    const { mostBytes, shareBytes, graceMs } = this.#limits;
    const network = prefixOf(address, 48);
    const holders = this.#ofNetwork.size + (this.#ofNetwork.get(network) ? 0 : 1);
    const partBytes = Math.min(shareBytes, mostBytes / holders);
    const isGreedy = (held: Held) => this.#ofNetwork.get(held.network)!.bytesWith() > partBytes;
    // Those who wait ask often, and there may be thousands of them.
    if (now - this.#greedy.at >= LOOK_MS) {
      const greedy = [...this.#all.held].filter((held) => now - held.since >= graceMs && isGreedy(held));
      const lateLast = (a: Held, b: Held) => Number(this.#isLate(a, now)) - Number(this.#isLate(b, now));
      this.#greedy = { at: now, held: greedy.sort((a, b) => lateLast(a, b) || paceOf(b, now) - paceOf(a, now)) };
    }
    const { held } = this.#greedy;
    while (held.length > 0 && !(this.#all.held.has(held.at(-1)!) && isGreedy(held.at(-1)!))) held.pop();
    const slowest = held.at(-1);
    const isModest = bytesWith(this.#ofNetwork.get(network), body) <= partBytes;
    return slowest && (isModest || this.#isLate(slowest, now)) ? slowest : undefined;
  }

  #isLate({ body, since, takenAt, isWhole }: Held, now: number): boolean {
    const { leastPace, graceMs, stallMs } = this.#limits;
    if (isWhole || now - since < graceMs) return false;
    return now - takenAt >= stallMs || now - since > graceMs + (body.length / leastPace) * 1_000;
  }
}

const bytesWith = (bodies: Bodies | undefined, body: Held['body']) => bodies?.bytesWith(body) ?? body.length;

const paceOf = ({ takenBytes, since }: Held, now: number) => takenBytes / Math.max(1, now - since);

function* pieces(body: Buffer, part: Part): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    part.progress(at);
    yield body.subarray(at, at + PIECE_BYTES);
  }
}
