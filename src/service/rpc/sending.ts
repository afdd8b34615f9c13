import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Cost } from '../ingress/work-budget.ts';
import type { Piece } from './streamed-result.ts';

/** A shorter answer is sent whole. */
const WHOLE_BYTES = 64 * 1024;
/** Handed to the socket at once: what its reader has not taken is copied once more. */
const SLICE_BYTES = 16 * 1024;

/**
 * Sends pieces of JSON as they are made: a short answer whole, a long one at the pace of its reader. In memory are one piece and a
 * slice of it, whoever reads slowly. A reader that leaves ends the making.
 *
 * @param pay counts bytes, and waits where its caller owes too much
 */
export async function sendPieces(
  reply: FastifyReply,
  pieces: AsyncGenerator<Piece>,
  pay: (cost: Cost) => Promise<void>
): Promise<FastifyReply> {
  reply.type('application/json; charset=utf-8');
  const head: Buffer[] = [];
  for (let bytes = 0; bytes < WHOLE_BYTES; ) {
    const { done, value } = await pieces.next();
    if (done) {
      await pay({ bytes });
      return reply.send(Buffer.concat(head));
    }
    const piece = bytesOf(value);
    head.push(piece);
    bytes += piece.length;
  }
  const stream = Readable.from(slices(head, pieces, pay), { objectMode: false, highWaterMark: 0 });
  stream.once('close', () => void pieces.return(undefined)); // also of a reader that left before it was sent anything
  return reply.send(stream);
}

async function* slices(
  head: Buffer[],
  pieces: AsyncGenerator<Piece>,
  pay: (cost: Cost) => Promise<void>
): AsyncGenerator<Buffer> {
  for (let piece = head.shift(); piece !== undefined; piece = head.shift() ?? (await nextOf(pieces))) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES);
    await pay({ bytes: piece.length });
  }
}

async function nextOf(pieces: AsyncGenerator<Piece>): Promise<Buffer | undefined> {
  const { done, value } = await pieces.next();
  return done ? undefined : bytesOf(value);
}

const bytesOf = (piece: Piece): Buffer =>
  typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
