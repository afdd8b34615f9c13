import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { PlatformError } from '../errors.ts';
import { readBounded } from '../wire/bounded.ts';
import { parseJson } from '../wire/json.ts';
import type { ChainCoin } from './coins.ts';

const PageSchema = Compile(
  Type.Object({
    utxos: Type.Array(
      Type.Object({
        txid: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        vout: Type.Integer({ minimum: 0 }),
        value: Type.String({ pattern: '^\\d{1,20}$' }),
        height: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])
      })
    ),
    nextCursor: Type.Optional(Type.String({ pattern: '^[0-9a-f]{72}$' })),
    sync: Type.Object({
      synced: Type.Boolean(),
      lag: Type.Union([Type.Integer(), Type.Null()]),
      committed_height: Type.Union([Type.Integer(), Type.Null()])
    })
  })
);

const PAGE = 10_000;
/** A transaction takes few coins: of an address with more, only so many are asked for, in no order of their amounts. */
const MOST_COINS = 100_000;
const PAGE_BYTES = 8 * 2 ** 20;
const TIMEOUT_MS = 10_000;
/** A tracker that is no more blocks behind than this is asked again: it polls its node once a second. */
const SHORT_LAG_BLOCKS = 3;
const PATIENCE_MS = 3_000;
const ASK_AGAIN_MS = 50;

/**
 * The coins of a script as a UTXO tracker has them: those that blocks hold, then those of its mempool, each time the largest first. It
 * answers in milliseconds what a node without a wallet reads its whole set for.
 *
 * @param url  of the tracker
 * @param height  of the caller's node: a tracker that polls its node may not know this block yet
 * @throws {PlatformError} TRACKER_UNAVAILABLE: it does not answer, or is behind its node, also after 3 s
 */
export async function readTrackedCoins(url: string, scriptHex: string, height: number): Promise<readonly ChainCoin[]> {
  const coins: ChainCoin[] = [];
  const deadline = performance.now() + PATIENCE_MS;
  for (let after = ''; coins.length < MOST_COINS; ) {
    const { utxos, nextCursor, sync } = await readPage(`${url}/utxos/script:${scriptHex}?limit=${PAGE}${after}`);
    const missing = missingBlocks(sync, height);
    if (!sync.synced || missing !== 0) {
      if (missing !== null && missing <= SHORT_LAG_BLOCKS && performance.now() < deadline) {
        await sleep(ASK_AGAIN_MS);
        [coins.length, after] = [0, ''];
        continue;
      }
      const lag = missing === null ? 'does not know how far it is behind' : `is ${missing} blocks behind its node`;
      throw unavailable(url, `it ${lag}`);
    }
    for (const { txid, vout, value, height } of utxos)
      coins.push({ txid, vout, amount: BigInt(value), transaction: null, height });
    if (nextCursor === undefined) break;
    after = `&after=${nextCursor}`;
  }
  return coins.sort((a, b) => Number(a.height === null) - Number(b.height === null) || Number(b.amount - a.amount));
}

interface TrackerSync {
  readonly lag: number | null;
  readonly committed_height: number | null;
}

function missingBlocks({ lag, committed_height: has }: TrackerSync, height: number): number | null {
  return lag === null || has === null ? null : Math.max(lag, height - has);
}

async function readPage(url: string) {
  const place = new URL(url).origin;
  const body = await fetchBounded(url, place);
  if (!PageSchema.Check(body)) throw unavailable(place, 'its answer is malformed');
  return body;
}

async function fetchBounded(url: string, place: string): Promise<unknown> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.status !== 200) throw unavailable(place, `it answers ${answer.status}`);
    const bytes = await readBounded(answer.body ?? [], PAGE_BYTES, () => unavailable(place, 'its answer is too long'));
    return parseJson(bytes, JSON.parse);
  } catch (caught) {
    if (caught instanceof PlatformError) throw caught;
    throw unavailable(place, 'it does not answer', caught);
  }
}

const unavailable = (tracker: string, reason: string, cause?: unknown): PlatformError =>
  new PlatformError(
    'TRACKER_UNAVAILABLE',
    { reason: `the UTXO tracker cannot be asked: ${reason}`, tracker },
    { cause }
  );
