import { errorCodes, type FastifyRequest } from 'fastify';
import type { AddressReader } from '../address.ts';
import type { Authenticator } from '../auth.ts';
import { type BodyLimits, HeldBodies } from './held-bodies.ts';

/** A body begins with so much memory, whatever length it says: it may never come. */
const FIRST_BYTES = 1_024;

/** A connection has buffers beside its body, as large as that: all together are below 64 MB. */
const LIMITS: Partial<BodyLimits> = {
  mostBytes: 8 * 2 ** 20,
  shareBytes: 256 * 1024,
  waitShareBytes: 2 * 2 ** 20,
  leastPace: 32 * 1024,
  stallMs: 5_000
};

/** Keeps a byte order mark, which is no JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node's word for a request whose connection ended before its body did: no failure of this service. */
const CALLER_LEFT = 'ECONNRESET';

interface RequestBodiesDeps {
  /** Whom a body counts for. */
  readonly addressOf: AddressReader;
  /** Bodies of callers with a key are not counted. */
  readonly authenticator: Pick<Authenticator, 'admits'>;
}

/** Reads the bodies of requests, and bounds what those hold in memory that are not at their end. */
export class RequestBodies {
  readonly #deps: RequestBodiesDeps;
  readonly #held = new HeldBodies(LIMITS);

  constructor(deps: RequestBodiesDeps) {
    this.#deps = deps;
  }

  /**
   * Reads a body when there is room for all of it: one without a length counts as the longest.
   *
   * @returns its text; null where it is not UTF-8
   * @throws {PlatformError} ANSWERS_WAITING  @throws {Error} FST_ERR_CTP_BODY_TOO_LARGE, and one with a status where its caller left
   */
  async read(request: FastifyRequest, body: AsyncIterable<Buffer>, mostBytes: number): Promise<string | null> {
    const { raw, headers } = request;
    const length = Number(headers['content-length'] ?? mostBytes);
    refuseAbove(mostBytes, length);
    const { addressOf, authenticator } = this.#deps;
    const part = authenticator.admits(headers, false)
      ? undefined
      : await this.#held.take(addressOf(raw), raw, { length });
    try {
      return decode(await gather(body, { length, mostBytes, progress: (bytes) => part?.progress(bytes) }));
    } catch (caught) {
      const { code } = Object(caught) as { code?: unknown };
      throw code === CALLER_LEFT ? Object.assign(caught as Error, { statusCode: 400 }) : caught;
    } finally {
      part?.release();
    }
  }
}

/** Into one piece of memory: kept in pieces of a byte, as a body may come, it would take a hundred times as much. */
async function gather(
  body: AsyncIterable<Buffer>,
  {
    length,
    mostBytes,
    progress
  }: { readonly length: number; readonly mostBytes: number; readonly progress: (bytes: number) => void }
): Promise<Buffer> {
  let whole = Buffer.alloc(Math.min(length, FIRST_BYTES));
  let filled = 0;
  for await (const piece of body) {
    const needed = filled + piece.length;
    refuseAbove(mostBytes, needed);
    if (needed > whole.length) {
      const larger = Buffer.alloc(Math.max(Math.min(2 * whole.length, length), needed));
      whole.copy(larger, 0, 0, filled);
      whole = larger;
    }
    filled += piece.copy(whole, filled);
    progress(filled);
  }
  return whole.subarray(0, filled);
}

function refuseAbove(mostBytes: number, bytes: number): void {
  if (!(bytes <= mostBytes)) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
}

/** Bytes that are no UTF-8 are none: replaced, they would make another request than was sent. */
function decode(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
