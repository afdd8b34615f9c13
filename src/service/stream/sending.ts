import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Payer } from '../ingress/payer.ts';
import type { Piece } from '../rpc/streamed-result.ts';
import type { Part } from './bodies.ts';

/** A shorter answer is sent whole. */
const WHOLE_BYTES = 32 * 1024;
/** Handed to the socket at once: what its reader has not taken is copied once more. */
const SLICE_BYTES = 16 * 1024;

/**
 * Sends pieces of JSON as they are made: a short answer whole, a long one at the pace of its reader. In memory are one piece and a
 * slice of it, however slow the reader is: the next piece is asked for when the kernel has taken the one before. A reader that
 * leaves ends the making.
 *
 * Nothing waits here for what its caller owes: `pieces` does, before it makes the next one, and with none in memory.
 *
 * @param pieces each may be overwritten once the next is asked for
 * @param charge counts the bytes of a long answer; those of a whole one are counted by whoever sends it
 */
export async function sendPieces(
  reply: FastifyReply,
  pieces: AsyncGenerator<Piece>,
  charge: Payer['charge']
): Promise<FastifyReply> {
  reply.type('application/json; charset=utf-8');
  const head: Buffer[] = [];
  for (let bytes = 0; bytes < WHOLE_BYTES; ) {
    const last = head.pop();
    if (last) head.push(Buffer.from(last)); // a copy: it outlives the next one
    const { done, value } = await pieces.next();
    if (done) return reply.send(Buffer.concat(head));
    const piece = bytesOf(value);
    head.push(piece);
    bytes += piece.length;
  }
  return reply.send(new PacedBody(head, pieces, charge));
}

/** A body that is written slice by slice: Node's own pipe writes further ones while those before wait for their reader. */
export class PacedBody extends Readable {
  /** Counts a piece while it is in memory. */
  count: ((piece: Buffer) => Promise<Part>) | undefined;

  readonly #head: Buffer[];
  readonly #pieces: AsyncGenerator<Piece>;
  readonly #charge: Payer['charge'];

  constructor(head: Buffer[], pieces: AsyncGenerator<Piece>, charge: Payer['charge']) {
    super({ read: () => undefined });
    [this.#head, this.#pieces, this.#charge] = [head, pieces, charge];
    this.once('close', () => void pieces.return(undefined)); // also of a reader that left before it was sent anything
  }

  override pipe<T extends NodeJS.WritableStream>(response: T): T {
    this.#write(response as unknown as ServerResponse).then(
      () => this.push(null),
      (caught: Error) => this.destroy(caught)
    );
    this.once('end', () => response.end()).resume();
    return response;
  }

  async #write(response: ServerResponse): Promise<void> {
    while (await this.#writeNext(response));
  }

  /**
   * Writes the next piece. It is a function of its own, so that nothing keeps this piece in memory while the next is
   * made.
   *
   * @returns whether there was one
   */
  async #writeNext(response: ServerResponse): Promise<boolean> {
    const piece = await this.#next();
    if (piece === undefined) return false;
    const part = await this.count?.(piece);
    try {
      for (let at = 0; at < piece.length; at += SLICE_BYTES) {
        part?.progress(at);
        await written(response, piece.subarray(at, at + SLICE_BYTES));
      }
    } finally {
      part?.release();
    }
    this.#charge({ bytes: piece.length });
    return true;
  }

  async #next(): Promise<Buffer | undefined> {
    const first = this.#head.shift();
    if (first) return first;
    const { done, value } = await this.#pieces.next();
    return done ? undefined : bytesOf(value);
  }
}

/** Returns when the kernel has the bytes. @throws an Error when the reader has left */
function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = () => reject(new Error('the reader has left'));
  response.once('close', leave);
  response.write(bytes, (fault) => (fault ? reject(fault) : resolve()));
  return promise.finally(() => response.off('close', leave));
}

const bytesOf = (piece: Piece): Buffer =>
  typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
