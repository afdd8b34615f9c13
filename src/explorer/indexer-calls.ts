import { PlatformError } from '../errors.ts';
import { AnsweredError, callMethod, reasonOf } from '../service/rpc/call-method.ts';
import { RPC_CODES } from '../service/rpc/codes.ts';

/** Methods of an indexer that clients call by way of an explorer. */
export const INDEXER_METHODS = ['feequote', 'feeschedule', 'oraclefeequote', 'preflight'] as const;
export type IndexerMethod = (typeof INDEXER_METHODS)[number];

/** Place of a network's indexer. */
export interface IndexerPlace {
  /** Without a slash at its end; undefined where none is named. */
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
}

/** A trial of the indexer ends earlier. */
const PATIENCE_MS = 10_000;

/**
 * Asks an indexer.
 *
 * @returns its result, as it is
 * @throws {PlatformError} INDEXER_UNNAMED, INDEXER_UNREACHABLE, INDEXER_LATE, REQUEST_INVALID; RATE_LIMITED by the indexer
 */
export async function askIndexer(
  { url, apiKey }: IndexerPlace,
  method: IndexerMethod,
  params: object,
  patienceMs = PATIENCE_MS
): Promise<unknown> {
  if (url === undefined) throw new PlatformError('INDEXER_UNNAMED', { reason: 'no indexer is named' });
  try {
    return await callMethod(`${url}/`, method, params, { apiKey, signal: AbortSignal.timeout(patienceMs) });
  } catch (caught) {
    if (caught instanceof AnsweredError && caught.code === RPC_CODES.RATE_LIMITED) {
      const { retryAfterS } = caught;
      const reason = `the indexer answers this explorer no more questions for now; retry in ${retryAfterS} s`;
      throw new PlatformError('RATE_LIMITED', { reason, retryAfterS });
    }
    throw new PlatformError(codeOf(caught), { reason: `the indexer: ${reasonOf(caught)}` });
  }
}

function codeOf(caught: unknown): 'REQUEST_INVALID' | 'INDEXER_LATE' | 'INDEXER_UNREACHABLE' {
  if (caught instanceof AnsweredError && caught.code === RPC_CODES.INVALID_PARAMS) return 'REQUEST_INVALID';
  return (caught as Error).name === 'TimeoutError' ? 'INDEXER_LATE' : 'INDEXER_UNREACHABLE';
}
