import { type ErrorCode, PlatformError } from '../errors.ts';

const TIMEOUT_MS = 30_000;

/** A service of the devnet, by its JSON-RPC. */
export interface AskedService {
  readonly name: string;
  readonly url: string;
  /** Undefined: it asks for none. */
  readonly apiKey?: string;
  /** What a refusal is called. */
  readonly fault: ErrorCode;
}

/** Calls one method, as a user would. @returns its result @throws {PlatformError} the service's `fault`, naming service, method and reason */
export async function askService(
  { name, url, apiKey, fault }: AskedService,
  method: string,
  params: object
): Promise<unknown> {
  const refuse = (reason: string, cause?: unknown) =>
    new PlatformError(fault, { reason: `the ${name} refused ${method}: ${reason}` }, { cause });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS)
    });
    const reply = (await response.json()) as { readonly result?: unknown; readonly error?: { message?: string } };
    if (!response.ok || reply.error) throw refuse(`HTTP ${response.status}, ${reply.error?.message ?? 'no message'}`);
    return reply.result;
  } catch (caught) {
    throw caught instanceof PlatformError ? caught : refuse(String(caught), caught);
  }
}
