import { setTimeout as sleep } from 'node:timers/promises';
import { readBounded } from '../../wire/bounded.ts';
import { parseJson } from '../../wire/json.ts';
import { readSourceTime } from './source-times.ts';
import type { PriceSource, SourceAnswer } from './sources.ts';

export interface AskOptions {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** Key of its service. */
  readonly key?: string | undefined;
  /** Time limit of each attempt. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** All tickers of Kraken are some 500 KB. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const TRIES = 3;
const BAD_REQUEST = 400;
const RETRY_STATUSES = new Set([429, 503]);
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Asks a source for its prices: `timeoutMs` at most for each of three attempts; only 429 and 503 are tried again.
 *
 * @throws an Error that says what came instead
 */
export async function askSource(source: PriceSource, options: AskOptions): Promise<Omit<SourceAnswer, 'source'>> {
  const [first, ...others] = source.paths;
  let response = await ask(first, source, options);
  for (const path of others) {
    if (response.status !== BAD_REQUEST) break;
    await response.body?.cancel();
    response = await ask(path, source, options);
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`answered HTTP ${response.status}`);
  }
  const tooLong = () => new Error(`answered more than ${MAX_BODY_BYTES} bytes`);
  const prices = source.read(parseJson(await readBounded(response.body ?? [], MAX_BODY_BYTES, tooLong)));
  if (prices.size === 0) throw new Error('answered with no price of a known pair');
  const madeAt = readSourceTime(response.headers.get('date'));
  return { servedAt: madeAt === null ? null : madeAt + readAgeMs(response.headers), madeAt, prices };
}

/** Returns the time that a cache on the way has kept an answer, in milliseconds. */
function readAgeMs(headers: Headers): number {
  const seconds = Number(headers.get('age') ?? 0);
  return seconds > 0 && seconds < 1e9 ? seconds * 1_000 : 0;
}

async function ask(
  path: string,
  { headers }: PriceSource,
  { url, key, timeoutMs, signal }: AskOptions
): Promise<Response> {
  for (let left = TRIES - 1, pauseMs = FIRST_PAUSE_MS; ; left--, pauseMs *= 2) {
    const response = await fetch(url + path, {
      redirect: 'error',
      headers: { accept: 'application/json', ...headers(key) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    });
    if (left === 0 || !RETRY_STATUSES.has(response.status)) return response;
    await response.body?.cancel();
    await sleep(pauseAsked(response.headers.get('retry-after')) ?? pauseMs, undefined, { signal });
  }
}

/** Milliseconds that a source asks to wait, as far as we do. */
function pauseAsked(retryAfter: string | null): number | undefined {
  if (retryAfter === null || !/^\d{1,6}$/.test(retryAfter)) return undefined;
  return Math.min(Number(retryAfter) * 1_000, LONGEST_PAUSE_MS);
}
