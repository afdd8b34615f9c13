import { crc32 } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { stoppedS } from '../../wire/state/alarm.ts';
import { monotonicMs } from '../../wire/state/monotonic.ts';
import type { Coin } from '../coins.ts';
import { LISTS } from '../lists/lists.ts';
import type { Question, Reply } from '../question.ts';
import { RECORDS } from '../records/records.ts';
import { lagOf } from '../report.ts';

/** A day: another release may tell the same in another form. */
const FOR_LONG = 'public, max-age=86400, immutable';
/** Cache-Control of an answer that may be kept, and is asked for with its ETag each time. */
const REVALIDATED = 'public, no-cache';
const ETAG_DIGITS = 8;

/** Returns whether nothing but the ledger decides an answer: until its next block the answer is the same. */
function hangsOnLedger({ method }: Question): boolean {
  const list = LISTS[method];
  const { changesBetweenBlocks } = list ?? RECORDS[method] ?? {};
  return list?.database !== 'decoder' && changesBetweenBlocks !== true;
}

/** Returns the key of a question among those of its network; null if its answer depends on more than the tip. */
export function questionKey(question: Question): string | null {
  return hangsOnLedger(question) ? JSON.stringify(question) : null;
}

/** Returns the ETag of an answer at a tip. Tip and release tell versions of a URL apart; the rest is for callers that mix up URLs. */
function etagOf(key: string, { network }: Coin, mark: string, version: string): string {
  return `W/"${mark}-${crc32(`${version} ${network.code} ${key}`).toString(16).padStart(ETAG_DIGITS, '0')}"`;
}

/** An answer, and the key that makes its ETag another one than those of others; null where the tip alone does not decide it. */
type Told = { readonly key: string | null; readonly coin: Coin; readonly version: string } & Omit<
  Reply,
  'body' | 'next'
>;

/**
 * Returns whether the caller has the answer of the newest block that is known. Then it is told how fresh that is, and
 * no database is asked.
 *
 * @param kept the same answer, where it is in memory
 */
export function isCurrent(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    key,
    coin,
    version,
    mark,
    kept
  }: Readonly<{ key: string; coin: Coin; version: string; mark: string; kept: Reply | null }>
): boolean {
  const known = request.headers['if-none-match'];
  if (known === undefined || !namesEtag(known, etagOf(key, coin, mark, version), kept !== null)) return false;
  const height = coin.report()?.height ?? null;
  return tellFreshness(request, reply, {
    key,
    coin,
    version,
    height,
    mark,
    isSettled: kept?.isSettled ?? false,
    isProvisional: false
  });
}

/** Says how fresh an answer is and how long it may be kept. @returns whether the caller has it already */
export function tellFreshness(
  request: FastifyRequest,
  reply: FastifyReply,
  { key, coin, version, height, mark, isSettled, isProvisional }: Told
): boolean {
  const etag = key === null || mark === null || isProvisional ? null : etagOf(key, coin, mark, version);
  const report = coin.report();
  // An answer may show a block that the last look at the tips had not: then it is as far behind as it was at that look.
  const isNewer = height !== null && report !== null && height > (report.height ?? height);
  const lag = lagOf({ height: isNewer ? report.height : height, decoderTip: report?.decoderTip ?? null });
  if (height !== null) reply.header('x-block-height', height);
  if (lag !== null) reply.header('x-lag-blocks', lag);
  const stopped = stoppedS(coin.report()?.upstream, monotonicMs());
  if (stopped > 0) reply.header('x-stopped-seconds', stopped);
  reply.header('cache-control', etag === null ? 'no-store' : isSettled ? FOR_LONG : REVALIDATED);
  if (etag !== null) reply.header('etag', etag);
  const known = request.headers['if-none-match'];
  return etag !== null && known !== undefined && namesEtag(known, etag, true);
}

const TAGS = /(?:W\/)?("[^"]*")/g;

/**
 * Returns whether If-None-Match has this tag, weak or not.
 *
 * @param exists there is an answer, which `*` stands for
 * @see RFC 9110 section 13.1.2
 */
function namesEtag(known: string, etag: string, exists: boolean): boolean {
  if (known.trim() === '*') return exists;
  const opaque = etag.replace('W/', '');
  for (const [, tag] of known.matchAll(TAGS)) if (tag === opaque) return true;
  return false;
}
