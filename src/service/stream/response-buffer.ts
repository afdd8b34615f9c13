import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { TransientMap } from '../../transient-map.ts';

/** Smaller answers are no concern: a connection has one at a time. */
const LARGE_BYTES = 128 * 1024;
const PIECE_BYTES = 64 * 1024;

/** How much large answers may hold, and for how long. */
interface ResponseLimits {
  /** Of all answers that are not taken to their end, and of those of one address; twice as much may wait for room. */
  readonly mostBytes: number;
  readonly shareBytes: number;
  /** How long an answer waits for room. */
  readonly patienceMs: number;
  /** Over all of its time an answer that others wait for must be taken at so many bytes a second, */
  readonly leastPace: number;
  /** and something of it within this time: the kernel takes some megabytes that its reader has not. */
  readonly stallMs: number;
  /** The first moment of an answer, in which nobody else may have its room. */
  readonly graceMs: number;
}

const LIMITS: ResponseLimits = {
  mostBytes: 48 * 2 ** 20,
  shareBytes: 16 * 2 ** 20,
  patienceMs: 15_000,
  leastPace: 256 * 1024,
  stallMs: 10_000,
  graceMs: 2_000
};
const LOOK_MS = 100;

interface Held {
  readonly address: string;
  readonly reply: FastifyReply;
  /** Several answers may share one, which takes its room once. */
  readonly body: Buffer;
  readonly since: number;
  takenBytes: number;
  takenAt: number;
}

/** Bodies that are held, each once, and their bytes. */
class Bodies {
  readonly #bodies = new Set<Buffer>();
  #bytes = 0;

  add(body: Buffer): void {
    if (this.#bodies.has(body)) return;
    this.#bodies.add(body);
    this.#bytes += body.length;
  }

  /** With one more. */
  bytesWith(body?: Buffer): number {
    return this.#bytes + (body && !this.#bodies.has(body) ? body.length : 0);
  }
}

/**
 * Bounds what waits in memory for clients that do not read, by who holds it.
 *
 * Each address has a share; its further answers wait until it has taken earlier ones. While all together hold too much, the slowest
 * answer of an address that holds more than others may is ended: nobody else waits for it. A single answer of an address always has
 * room in its share.
 */
export class ResponseBuffer {
  readonly #held = new TransientMap<FastifyReply, Held>();
  /** What all of them hold, and what each address does; undefined since that has changed. */
  #load: { readonly all: Bodies; readonly of: ReadonlyMap<string, Bodies> } | undefined;
  /** Bytes that wait for room, by address. */
  readonly #waiting = new Map<string, number>();
  readonly #limits: ResponseLimits;

  constructor(limits: Partial<ResponseLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** @returns what to send instead: a large body in pieces. @throws {PlatformError} ANSWERS_WAITING */
  async hold(address: string, reply: FastifyReply, payload: unknown): Promise<unknown> {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
    if (payload.length <= LARGE_BYTES) return payload;
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    if (!this.#hasRoom(address, body)) await this.#wait(address, reply, body);
    const since = performance.now();
    const held: Held = { address, reply, body, since, takenBytes: 0, takenAt: since };
    this.#held.set(reply, held);
    this.#load = undefined;
    reply.raw.once('close', () => this.#forget(reply));
    reply.header('content-length', body.length);
    return Readable.from(pieces(held), { objectMode: false, highWaterMark: PIECE_BYTES });
  }

  #forget(reply: FastifyReply): void {
    this.#held.delete(reply);
    this.#load = undefined;
  }

  async #wait(address: string, reply: FastifyReply, body: Buffer): Promise<void> {
    const { mostBytes, shareBytes, patienceMs } = this.#limits;
    const before = this.#waiting.get(address) ?? 0;
    const all = this.#waiting.values().reduce((sum, bytes) => sum + bytes, body.length);
    // The second half is for those of whom nothing waits yet.
    if (before > 0 && (before + body.length > shareBytes || all > mostBytes)) this.#refuse(address);
    if (all > 2 * mostBytes) this.#refuse(address);
    this.#waiting.set(address, before + body.length);
    try {
      for (const until = performance.now() + patienceMs; !this.#hasRoom(address, body); ) {
        if (performance.now() > until || reply.raw.destroyed) this.#refuse(address);
        this.#makeRoom(address, body);
        if (!this.#hasRoom(address, body)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    } finally {
      const left = this.#waiting.get(address)! - body.length;
      if (left > 0) this.#waiting.set(address, left);
      else this.#waiting.delete(address);
    }
  }

  #refuse(address: string): never {
    const own = [...this.#held.values()].filter((held) => held.address === address).length;
    const reason = `${own} large answers to this address, and ${this.#held.size - own} to others, are still unread`;
    throw new PlatformError('ANSWERS_WAITING', { reason });
  }

  #hasRoom(address: string, body: Buffer): boolean {
    const { mostBytes, shareBytes } = this.#limits;
    const own = this.#bytesOf(address, body);
    const isAlone = own === body.length;
    return (isAlone || own <= shareBytes) && (this.#held.size === 0 || this.#bytesOf(undefined, body) <= mostBytes);
  }

  /** Bytes of an address, or of all, with one body more. Those who wait ask often: it is counted when it has changed. */
  #bytesOf(address: string | undefined, body?: Buffer): number {
    this.#load ??= loadOf(this.#held.values());
    const bodies = address === undefined ? this.#load.all : this.#load.of.get(address);
    return bodies?.bytesWith(body) ?? body?.length ?? 0;
  }

  /** Ends the slowest answer of the address itself where it is late, or of an address that holds more than its part. */
  #makeRoom(address: string, body: Buffer): void {
    const { mostBytes, shareBytes, graceMs } = this.#limits;
    const now = performance.now();
    const isFull = this.#bytesOf(undefined, body) > mostBytes;
    const holders = new Set([...this.#held.values()].map((held) => held.address)).add(address).size;
    const partBytes = Math.min(shareBytes, mostBytes / holders);
    const isModest = this.#bytesOf(address, body) <= partBytes;
    const [slowest] = [...this.#held.values()]
      .filter((held) => held.address === address || (isFull && this.#bytesOf(held.address) > partBytes))
      .filter((held) => now - held.since >= graceMs)
      .filter((held) => this.#isLate(held, now) || (isModest && held.address !== address))
      .sort((a, b) => paceOf(a, now) - paceOf(b, now));
    if (!slowest) return;
    slowest.reply.raw.destroy();
    this.#forget(slowest.reply);
  }

  #isLate({ body, since, takenAt }: Held, now: number): boolean {
    const { leastPace, graceMs, stallMs } = this.#limits;
    return now - takenAt >= stallMs || now - since > graceMs + (body.length / leastPace) * 1_000;
  }
}

function loadOf(held: Iterable<Held>) {
  const [all, of] = [new Bodies(), new Map<string, Bodies>()];
  for (const { address, body } of held) {
    const own = of.get(address) ?? new Bodies();
    of.set(address, own);
    for (const bodies of [all, own]) bodies.add(body);
  }
  return { all, of };
}

const paceOf = ({ takenBytes, since }: Held, now: number) => takenBytes / Math.max(1, now - since);

function* pieces(held: Held): Generator<Buffer> {
  const { body } = held;
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    held.takenBytes = at;
    held.takenAt = performance.now();
    yield body.subarray(at, at + PIECE_BYTES);
  }
}
