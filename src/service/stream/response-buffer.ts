import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { TransientMap } from '../../transient-map.ts';

/** Smaller answers are no concern: a connection has one at a time. */
const LARGE_BYTES = 128 * 1024;
/** Of all large answers that are not taken to their end. */
const MOST_BYTES = 32 * 2 ** 20;
const PIECE_BYTES = 64 * 1024;
/** A reader that takes nothing for this long gives way to others. */
const STALL_MS = 10_000;

interface Held {
  /** Several answers may share one, which takes its room once. */
  readonly body: Buffer;
  takenAt: number;
}

/**
 * Bounds what waits in memory for clients that do not read. When there is no room, stalled answers are ended; when
 * none is stalled, the new answer is refused. A single answer always has room.
 */
export class ResponseBuffer {
  /** The oldest first. */
  readonly #held = new TransientMap<FastifyReply, Held>();
  readonly #mostBytes: number;
  readonly #stallMs: number;

  constructor(mostBytes = MOST_BYTES, stallMs = STALL_MS) {
    this.#mostBytes = mostBytes;
    this.#stallMs = stallMs;
  }

  /** @returns what to send instead: a large body in pieces. @throws {PlatformError} ANSWERS_WAITING */
  hold(reply: FastifyReply, payload: unknown): unknown {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
    if (payload.length <= LARGE_BYTES) return payload;
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    this.#makeRoom(body);
    const held = { body, takenAt: performance.now() };
    this.#held.set(reply, held);
    reply.raw.once('close', () => this.#held.delete(reply));
    reply.header('content-length', body.length);
    return Readable.from(pieces(body, held), { objectMode: false, highWaterMark: PIECE_BYTES });
  }

  #makeRoom(body: Buffer): void {
    const bodies = () => new Set([...this.#held.values()].map((held) => held.body));
    const hasRoom = () =>
      bodies()
        .add(body)
        .values()
        .reduce((sum, { length }) => sum + length, 0) <= this.#mostBytes;
    for (const [reply, { takenAt }] of this.#held.entries()) {
      if (hasRoom()) return;
      if (performance.now() - takenAt < this.#stallMs) continue;
      reply.raw.destroy();
      this.#held.delete(reply);
    }
    if (this.#held.size > 0 && !hasRoom())
      throw new PlatformError('ANSWERS_WAITING', { reason: `${this.#held.size} large answers are still unread` });
  }
}

function* pieces(body: Buffer, held: Held): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    held.takenAt = performance.now();
    yield body.subarray(at, at + PIECE_BYTES);
  }
}
