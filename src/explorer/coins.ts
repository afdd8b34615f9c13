import type { ChainNetwork } from '../coin/chains.ts';
import { CHAIN_NETWORKS } from '../coin/chains.ts';
import { PlatformError } from '../errors.ts';
import type { IndexerMethod } from './indexer-calls.ts';
import type { Question, Reply } from './question.ts';
import type { ExplorerReport } from './report.ts';

/** One network that is served. */
export interface Coin {
  readonly network: ChainNetwork;
  /** Returns the actor's last report; null before the first. */
  readonly report: () => ExplorerReport | null;
  /** @throws {PlatformError} by what was asked; ACTOR_TIMEOUT, ACTOR_NOT_READY, DATABASE_UNAVAILABLE */
  readonly read: (question: Question) => Promise<Reply>;
  /** Asks the network's indexer. @throws {PlatformError} INDEXER_*, REQUEST_INVALID, RATE_LIMITED */
  readonly askIndexer: (method: IndexerMethod, params: object) => Promise<unknown>;
  /** Aborted when it is served no longer. */
  readonly gone: AbortSignal;
}

const CODES = CHAIN_NETWORKS.map(({ code }) => code);

/**
 * Finds the network that a path names, in any case; without a code the only one that is served.
 *
 * @throws {PlatformError} COIN_UNKNOWN, COIN_NOT_AVAILABLE
 */
export function findCoin(coins: readonly Coin[], code: string | undefined): Coin {
  const served = coins.map(({ network }) => network.code).join(', ') || 'none';
  if (code === undefined) {
    const [only, ...more] = coins;
    if (only && more.length === 0) return only;
    throw new PlatformError('COIN_UNKNOWN', { reason: `name a network in the path: ${served}` });
  }
  const wanted = code.toUpperCase();
  const found = coins.find(({ network }) => network.code === wanted);
  if (found) return found;
  if (CODES.includes(wanted))
    throw new PlatformError('COIN_NOT_AVAILABLE', { reason: `${wanted} is not served here; served: ${served}` });
  throw new PlatformError('COIN_UNKNOWN', {
    reason: `unknown network ${JSON.stringify(code.slice(0, 20))}: use one of ${CODES.join(', ')}`
  });
}
