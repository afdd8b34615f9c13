import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { readBounded } from '../../wire/bounded.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { parseJson } from '../../wire/json.ts';
import { OrNull } from '../../wire/or-null.ts';
import type { ChainCoin, Charge, TrackedCoins } from '../coins/coins.ts';
import { keyOf } from '../coins/reservations.ts';
import {
  findTrackerFault,
  type OwnNode,
  type TRACKER_ERRORS,
  type TrackerPlace,
  TrackerSyncSchema
} from './tracker-fault.ts';

const PageSchema = shapeOf(
  Type.Object({
    utxos: Type.Array(
      Type.Object({
        txid: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        vout: Type.Integer({ minimum: 0, maximum: 0xffffffff }),
        value: Type.String({ pattern: '^\\d{1,20}$' }),
        height: OrNull(Type.Integer({ minimum: 0 }))
      })
    ),
    nextCursor: Type.Optional(Type.String({ pattern: '^[0-9a-f]{72}$' })),
    sync: TrackerSyncSchema
  })
);

const RefusalSchema = shapeOf(Type.Object({ code: Type.String({ pattern: '^[A-Z_]{1,40}$' }) }));

/** Coins per page. */
const PAGE = 10_000;
/** Most coins that are kept, of the confirmed ones and of the others: the largest. A transaction spends few. */
const KEPT_COINS = 20_000;
/** Most coins of an address. Pages have no order by amount, so all must be read to find the largest. */
const MOST_COINS = 2_000_000;
const PAGE_BYTES = 8 * 2 ** 20;
const TIMEOUT_MS = 10_000;
/** Time after which a passing fault counts as a fault. */
export const PATIENCE_MS = 3_000;
const ASK_AGAIN_MS = 50;
/** Limit for all pages of one address, the most that there may be. */
const READING_MS = 120_000;

/**
 * Reads the coins of a script from a UTXO tracker: confirmed ones first, then those of its mempool, each group largest
 * first.
 *
 * @param node the caller's node: a tracker polls its own and may not have the newest block yet
 * @param charge called for each page that is read
 * @throws {PlatformError} the codes of TRACKER_ERRORS, for a short lag only after 3 s; ANSWERS_WAITING; COINS_INSUFFICIENT when the
 *   address has too many coins
 */
export async function readTrackedCoins(
  { url, apiKey }: TrackerPlace,
  scriptHex: string,
  node: OwnNode,
  charge: Charge = () => undefined
): Promise<TrackedCoins> {
  let coins = new Map<string, ChainCoin>();
  let seen = 0;
  let lacksMempool = false;
  let state: string | null | undefined;
  const began = performance.now();
  for (let cursor = ''; ; ) {
    const after = cursor === '' ? '' : `&after=${cursor}`;
    const { utxos, nextCursor, sync } = await readPage(
      `${url}/utxos/script:${scriptHex}?limit=${PAGE}${after}`,
      apiKey
    );
    const fault = await findTrackerFault(sync, node);
    if (fault && (!fault.isPassing || performance.now() >= began + PATIENCE_MS))
      throw failed(fault.code, url, fault.reason);
    if (performance.now() >= began + READING_MS)
      throw failed('TRACKER_UNAVAILABLE', url, `does not give all coins of the address within ${READING_MS / 1000} s`);
    // A block between two pages moves coins from one to the other.
    const hasMoved = cursor !== '' && sync.committed_hash !== state;
    if (fault || hasMoved) {
      await sleep(ASK_AGAIN_MS);
      [coins, seen, cursor, lacksMempool] = [new Map(), 0, '', false];
      continue;
    }
    lacksMempool ||= sync.mempool_ready === false;
    state = sync.committed_hash;
    for (const { txid, vout, value, height } of utxos)
      coins.set(keyOf({ txid, vout }), { txid, vout, amount: BigInt(value), transaction: null, height });
    seen += utxos.length;
    charge({ rows: utxos.length });
    if (coins.size > 4 * KEPT_COINS) coins = new Map(largest(coins).map((coin) => [keyOf(coin), coin]));
    if (nextCursor === undefined) return { coins: largest(coins), lacksMempool };
    if (seen >= MOST_COINS) {
      const reason = `the address has more than ${MOST_COINS} coins: name those to spend in utxos`;
      throw new PlatformError('COINS_INSUFFICIENT', { reason });
    }
    if (nextCursor <= cursor) throw failed('TRACKER_UNAVAILABLE', url, 'gives pages that come to no end');
    cursor = nextCursor;
  }
}

/** Sorts confirmed coins before the others, each group largest first, and keeps the largest of each. */
function largest(coins: ReadonlyMap<string, ChainCoin>): ChainCoin[] {
  const sorted = [...coins.values()].sort((a, b) => Number(b.amount - a.amount));
  const [held, waiting] = [true, false].map((isHeld) => sorted.filter(({ height }) => (height !== null) === isHeld));
  return [held!, waiting!].flatMap((some) => some.slice(0, KEPT_COINS));
}

async function readPage(url: string, apiKey: string | undefined) {
  const place = new URL(url).origin;
  const body = await fetchBounded(url, place, apiKey);
  if (!PageSchema.Check(body))
    throw failed('TRACKER_UNAVAILABLE', place, 'gives an answer that is not a page of coins');
  return body;
}

async function fetchBounded(url: string, place: string, apiKey: string | undefined): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const fail = (reason: string, cause?: unknown) => failed('TRACKER_UNAVAILABLE', place, reason, cause);
  try {
    const headers = apiKey === undefined ? {} : { 'x-api-key': apiKey };
    const answer = await fetch(url, { redirect: 'error', headers, signal }); // the key goes to no other host
    const bytes = await readBounded(answer.body ?? [], PAGE_BYTES, () => fail('gives an answer that is too long'));
    if (answer.status !== 200) throw refusal(place, answer.status, bytes);
    return readJson(bytes);
  } catch (caught) {
    if (caught instanceof PlatformError) throw caught;
    throw fail(signal.aborted ? `does not answer within ${TIMEOUT_MS / 1000} s` : 'does not answer', caught);
  }
}

/** Returns the error for an answer without coins. */
function refusal(place: string, status: number, bytes: Buffer): PlatformError {
  const body = readJson(bytes);
  const code = RefusalSchema.Check(body) ? body.code : undefined;
  if (code === 'COINS_INCOMPLETE') return failed('TRACKER_NOT_READY', place, 'has not finished its first sync');
  if (status === 429 || code === 'ANSWERS_WAITING')
    return new PlatformError('ANSWERS_WAITING', { reason: 'the UTXO tracker answers others first: ask again later' });
  return failed('TRACKER_UNAVAILABLE', place, `answers ${status}${code ? ` (${code})` : ''}`);
}

/** Parses JSON; undefined when it is none. */
function readJson(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, JSON.parse);
  } catch {
    return undefined;
  }
}

/** @param reason must not name a host: callers read it */
function failed(code: (typeof TRACKER_ERRORS)[number], tracker: string, reason: string, cause?: unknown) {
  return new PlatformError(code, { reason: `the UTXO tracker ${reason}`, tracker }, { cause });
}
