import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { count } from '../../observe/counters.ts';
import type { Artifact } from '../../replication/snapshot/artifact.ts';
import { answerRange, firstByte, ifRangeHolds, noneMatchHits } from '../../replication/snapshot/byte-range.ts';
import type { Reader } from '../../replication/snapshot/reader.ts';

/** Says that the answer depends on the client's content codings, beside what else it depends on. */
export function varyByCoding(reply: FastifyReply): FastifyReply {
  const others = reply.getHeader('vary');
  return reply.header('vary', others === undefined ? 'Accept-Encoding' : `${String(others)}, Accept-Encoding`);
}

/** Returns whether the answer is no whole body: 304, or a range of a download that began earlier (416 where there is none). */
export function isBegun(artifact: Artifact, { headers }: FastifyRequest): boolean {
  if (noneMatchHits(headers['if-none-match'], artifact.etag)) return true;
  const range = ifRangeHolds(ifRange(headers), artifact.etag) ? headers.range : undefined;
  return answerRange(range, artifact.sizeBytes, artifact.complete).kind !== 'whole';
}

/**
 * Answers GET or HEAD from an artifact: 304, 206, 416 or 200.
 *
 * A complete one has its length; of one that grows, a range is served for the bytes that exist, and a whole body
 * follows the build to its end. A build that fails in mid-stream destroys the connection.
 *
 * @see RFC 9110 sections 13 and 14
 */
export async function sendArtifact(artifact: Artifact, request: FastifyRequest, reply: FastifyReply, reader: Reader) {
  reader.enter(artifact);
  await artifact.whenOpened();
  const { headers, method } = request;
  varyByCoding(reply).headers({ etag: artifact.etag, 'accept-ranges': 'bytes', ...artifact.headers });
  if (noneMatchHits(headers['if-none-match'], artifact.etag)) return reply.code(304).send();
  const range = method === 'GET' && ifRangeHolds(ifRange(headers), artifact.etag) ? headers.range : undefined;
  const first = firstByte(range);
  if (first !== null) await artifact.whenBeyond(first);
  const { sizeBytes, complete } = artifact;
  const answer = answerRange(range, sizeBytes, complete);
  if (answer.kind === 'unsatisfiable')
    return reply.code(416).header('content-range', `bytes */${sizeBytes}`).send({ error: 'no such bytes' });
  reply.type('application/json').header('content-encoding', artifact.coding);
  if (answer.kind === 'part') {
    const { start, end } = answer;
    reply
      .code(206)
      .header('content-range', `bytes ${start}-${end}/${complete ? sizeBytes : '*'}`)
      .header('content-length', end - start + 1);
    return sendBody(artifact.read(start, end), reply, reader);
  }
  if (complete) reply.header('content-length', sizeBytes);
  return method === 'HEAD' ? reply.send() : sendBody(artifact.read(0, null), reply, reader);
}

/** Sends a body, not as a stream: a block's memory may be used again only when the socket has taken its bytes. */
async function sendBody(blocks: AsyncIterable<Uint8Array>, reply: FastifyReply, reader: Reader): Promise<void> {
  const { raw, server } = reply.hijack();
  if (!server.server.listening) reply.header('connection', 'close');
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  try {
    for await (const block of blocks) {
      await myTurn(block.length);
      count('snapshotBytes.out', block.length);
      await write(raw, block);
      reader.tookBlock();
    }
    raw.end();
  } catch {
    raw.destroy(); // the reader has left, or the build has failed, which its store has logged
  }
}

/** Bytes that all downloads together write before the event loop turns to other requests: less than a millisecond's work. */
const TURN_BYTES = 2 ** 20;
let turnBytes = 0;
let turn: Promise<void> | undefined;

/** Waits until these bytes may be written. */
async function myTurn(size: number): Promise<void> {
  while (turnBytes >= TURN_BYTES) {
    turn ??= nextTurn().then(() => {
      turnBytes = 0;
      turn = undefined;
    });
    await turn;
  }
  turnBytes += size;
}

/** Writes bytes and waits until the socket has taken them. @throws {Error} when it is closed before */
function write(raw: ServerResponse, bytes: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const close = () => reject(new Error('the connection was closed'));
  if (raw.closed) close();
  raw.once('close', close);
  raw.write(bytes, (fault) => {
    raw.off('close', close);
    if (fault) reject(fault);
    else resolve();
  });
  return promise;
}

function ifRange(headers: FastifyRequest['headers']): string | undefined {
  const value = headers['if-range'];
  return typeof value === 'string' ? value : undefined;
}
