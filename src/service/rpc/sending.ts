import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Cost } from '../ingress/work-budget.ts';

/** A shorter answer is sent whole. */
const WHOLE_BYTES = 64 * 1024;

/**
 * Sends pieces of JSON as they are made: a short answer whole, a long one at the pace of its reader, with no more than a few pieces in
 * memory. A reader that leaves ends the making.
 *
 * @param pay counts bytes, and waits where its caller owes too much
 */
export async function sendPieces(
  reply: FastifyReply,
  pieces: AsyncGenerator<string | Buffer>,
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
    const piece = Buffer.from(value);
    head.push(piece);
    bytes += piece.length;
  }
  const stream = Readable.from(rest(head, pieces, pay), { objectMode: false, highWaterMark: WHOLE_BYTES });
  stream.once('close', () => void pieces.return(undefined)); // also of a reader that left before it was sent anything
  return reply.send(stream);
}

async function* rest(
  head: readonly Buffer[],
  pieces: AsyncGenerator<string | Buffer>,
  pay: (cost: Cost) => Promise<void>
): AsyncGenerator<Buffer> {
  yield* head;
  for await (const value of pieces) {
    const piece = Buffer.from(value);
    for (let at = 0; at < piece.length; at += WHOLE_BYTES) yield piece.subarray(at, at + WHOLE_BYTES);
    await pay({ bytes: piece.length });
  }
}
