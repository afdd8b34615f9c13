import { type ErrorCode, PlatformError } from '../errors.ts';
import { callMethod, reasonOf } from '../service/rpc/call-method.ts';

const TIMEOUT_MS = 30_000;

/** A service of the devnet with a JSON-RPC interface. */
export interface AskedService {
  readonly name: string;
  readonly url: string;
  /** Undefined when the service needs no key. */
  readonly apiKey?: string;
  /** Error code of a failed call. */
  readonly fault: ErrorCode;
}

/**
 * Calls one method as a user would. @returns its result @throws {PlatformError} the service's `fault`, with service,
 * method and reason
 */
export async function askService(
  { name, url, apiKey, fault }: AskedService,
  method: string,
  params: object
): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await callMethod(url, method, params, { apiKey, signal });
  } catch (cause) {
    const why = signal.aborted ? `did not answer within ${TIMEOUT_MS} ms` : reasonOf(cause);
    throw new PlatformError(fault, { reason: `${method} of the ${name} at ${url}: ${why}` }, { cause });
  }
}
