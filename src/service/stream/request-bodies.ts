import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import type { AddressReader } from '../callers/address.ts';
import type { Authenticator } from '../callers/auth.ts';
import type { ClientLimiter } from '../ingress/client-limiter.ts';
import type { WorkBudget } from '../ingress/work-budget.ts';
import { type JsonShape, shapeOfJson } from '../schema/json-shape.ts';
import type { Part } from './bodies.ts';
import { type BodyLimits, HeldBodies } from './held-bodies.ts';

/** A body begins with so much memory, whatever length it says: it may never come. */
const FIRST_BYTES = 1_024;
/** Values of a body of a caller without the key. */
const MOST_VALUES = 100_000;
/** Memory of one parsed value. */
const VALUE_BYTES = 64;
const MOST_DEPTH = 512;

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
  /** Returns the address that a body counts for. */
  readonly addressOf: AddressReader;
  /** Bodies of callers with a key are not counted. */
  readonly authenticator: Pick<Authenticator, 'admits'>;
  readonly budget: Pick<WorkBudget, 'charge'>;
  /** Charges a caller whose body found no room: it may come back at once, again and again. */
  readonly clientLimiter: Pick<ClientLimiter, 'refuse'>;
}

/** Reads the bodies of requests, and bounds what they hold in memory until they are answered. */
export class RequestBodies {
  readonly #deps: RequestBodiesDeps;
  readonly #held = new HeldBodies(LIMITS);
  readonly #parts = new WeakMap<IncomingMessage, Part>();

  constructor(deps: RequestBodiesDeps) {
    this.#deps = deps;
  }

  /**
   * Reads a body when there is room for all of it: one without a length counts as the longest. Its bytes and the time of reading it
   * cost its caller as an answer does.
   *
   * @param parse makes values of its text
   * @throws {PlatformError} ANSWERS_WAITING
   * @throws {SyntaxError} what is not UTF-8, nested too deep, or has too many values; what `parse` throws
   * @throws {Error} FST_ERR_CTP_BODY_TOO_LARGE, and one with a status where its caller left
   */
  async read<T>(
    request: FastifyRequest,
    body: AsyncIterable<Buffer>,
    mostBytes: number,
    parse: (text: string, shape: JsonShape) => T
  ): Promise<T> {
    const { raw, headers } = request;
    const { addressOf, authenticator, budget } = this.#deps;
    const length = Number(headers['content-length'] ?? mostBytes);
    refuseAbove(mostBytes, length);
    const isKnown = authenticator.admits(headers, false);
    const part = isKnown ? undefined : await this.#makeRoom(raw, length);
    if (part) this.#parts.set(raw, part);
    const bytes = await gather(body, { length, mostBytes, progress: (read) => part?.progress(read) });
    const began = performance.now();
    try {
      const text = decode(bytes);
      const shape = shapeOfJson(text);
      if (shape.depth > MOST_DEPTH) throw badText('the body is nested too deep');
      if (!isKnown && shape.values > MOST_VALUES) throw badText(`the body has more than ${MOST_VALUES} values`);
      part?.settle(bytes.length + VALUE_BYTES * shape.values);
      return parse(text, shape);
    } finally {
      if (!isKnown) budget.charge(addressOf(raw), { bytes: bytes.length, ms: performance.now() - began });
    }
  }

  async #makeRoom(raw: IncomingMessage, length: number): Promise<Part> {
    const { addressOf, clientLimiter } = this.#deps;
    try {
      return await this.#held.take(addressOf(raw), raw, { length });
    } catch (caught) {
      clientLimiter.refuse(raw);
      throw caught;
    }
  }

  /** Forgets the body of a request that is answered. */
  release(raw: IncomingMessage): void {
    this.#parts.get(raw)?.release();
  }
}

/** Gathers a body into one piece of memory: kept in pieces of a byte, as it may come, it would take a hundred times as much. */
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
  try {
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
  } catch (caught) {
    const { code } = Object(caught) as { code?: unknown };
    throw code === CALLER_LEFT ? Object.assign(caught as Error, { statusCode: 400 }) : caught;
  }
  return whole.subarray(0, filled);
}

function refuseAbove(mostBytes: number, bytes: number): void {
  if (!(bytes <= mostBytes)) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
}

/** Decodes a body, and refuses bytes that are no UTF-8: replaced, they would make another request than was sent. */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw badText('the body is not UTF-8', cause);
  }
}

const badText = (reason: string, cause?: unknown): SyntaxError =>
  Object.assign(new SyntaxError(reason, { cause }), { statusCode: 400 });
