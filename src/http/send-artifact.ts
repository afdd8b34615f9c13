import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Artifact } from '../snapshot/artifact.ts';
import { answerRange, firstByte, ifRangeHolds, noneMatchHits } from '../snapshot/byte-range.ts';

/** The body that is sent depends on this header of the request. */
export const VARY = { vary: 'Accept-Encoding' } as const;

/** True when the answer is no whole body: 304, or a range of what was begun already (416 where there is none). */
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
export async function sendArtifact(artifact: Artifact, request: FastifyRequest, reply: FastifyReply) {
  await artifact.whenOpened();
  const { headers, method } = request;
  reply.headers({ etag: artifact.etag, 'accept-ranges': 'bytes', ...VARY, ...artifact.headers });
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
    return reply
      .code(206)
      .header('content-range', `bytes ${start}-${end}/${complete ? sizeBytes : '*'}`)
      .header('content-length', end - start + 1)
      .send(artifact.read(start, end));
  }
  if (complete) reply.header('content-length', sizeBytes);
  return reply.send(method === 'HEAD' ? undefined : artifact.read(0, null));
}

function ifRange(headers: FastifyRequest['headers']): string | undefined {
  const value = headers['if-range'];
  return typeof value === 'string' ? value : undefined;
}
