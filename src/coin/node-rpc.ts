import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { PlatformError } from '../errors.ts';
import { readBounded } from '../wire/bounded.ts';
import { parseJson } from '../wire/json.ts';
import { parseExactJson } from './exact-json.ts';

export interface NodeRpcOptions {
  /** `http://host:port` */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** How long one attempt may take, default 30 s. */
  readonly timeoutMs?: number;
  /** Attempts after the first, default 10. */
  readonly retries?: number;
  /** Pause before another attempt, default 500 ms. */
  readonly retryDelayMs?: number;
  /** Pause after HTTP 429, default 5 s. */
  readonly rateLimitDelayMs?: number;
}

/** The error code of a coin node that is starting. */
const WARMING_UP = -28;

const CONNECTIONS = 8;
/** A block of 4 MB weight is below 40 MB as verbose JSON. */
const MAX_BODY_BYTES = 256 * 2 ** 20;
/** Characters of what the node says went wrong. */
const MAX_REASON = 500;

/**
 * JSON-RPC to one coin node over kept connections.
 *
 * Amounts arrive as the text that the node sent, never as floating point.
 *
 * @see the section "Limits" of the specification for the time limit and the retries
 */
export class NodeRpc {
  readonly #options: Required<NodeRpcOptions>;
  readonly #pool: Pool;
  #errorCount = 0;

  constructor(options: NodeRpcOptions) {
    this.#options = { timeoutMs: 30_000, retries: 10, retryDelayMs: 500, rateLimitDelayMs: 5_000, ...options };
    this.#pool = new Pool(options.url, { connections: CONNECTIONS, pipelining: 1 });
  }

  /** Attempts that failed since the start. */
  get errorCount(): number {
    return this.#errorCount;
  }

  /**
   * @returns the result, still to be checked
   * @throws {PlatformError} NODE_REFUSED (the node answered with an error, `rpcCode` in its detail), NODE_UNREACHABLE;
   *   or the signal's reason
   */
  async call(method: string, params: readonly unknown[] = [], signal?: AbortSignal): Promise<unknown> {
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(method, params, signal);
      } catch (caught) {
        signal?.throwIfAborted();
        this.#errorCount += 1;
        const error = PlatformError.from(caught, 'NODE_UNREACHABLE', { node: this.#options.url, method });
        if (error.code !== 'NODE_UNREACHABLE' || attempt >= this.#options.retries) throw error;
        const pauseMs = error.detail['status'] === 429 ? this.#options.rateLimitDelayMs : this.#options.retryDelayMs;
        await sleep(pauseMs, undefined, signal ? { signal } : {});
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #attempt(method: string, params: readonly unknown[], signal: AbortSignal | undefined): Promise<unknown> {
    const { url, user, password, timeoutMs } = this.#options;
    const deadline = AbortSignal.timeout(timeoutMs);
    const { statusCode, body } = await this.#pool.request({
      method: 'POST',
      path: '/',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
      },
      body: JSON.stringify({ jsonrpc: '1.0', id: method, method, params }),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline
    });
    const answer = await readBounded(
      body,
      MAX_BODY_BYTES,
      () => new PlatformError('NODE_REFUSED', { reason: `an answer is larger than ${MAX_BODY_BYTES} bytes`, method })
    );
    const occasion = { node: url, method, status: statusCode };
    if (statusCode === 401 || statusCode === 403) {
      throw new PlatformError('NODE_REFUSED', {
        reason: 'the node does not accept NODE_USER and NODE_PASSWORD from here',
        ...occasion
      });
    }
    return readAnswer(answer, occasion);
  }
}

function readAnswer(body: Buffer, occasion: Readonly<Record<string, unknown>>): unknown {
  let answer: unknown;
  try {
    answer = parseJson(body, parseExactJson);
  } catch (cause) {
    const reason = `the answer is no JSON: ${body.toString('utf8', 0, 80)}`;
    throw new PlatformError('NODE_UNREACHABLE', { reason, ...occasion }, { cause });
  }
  const { result, error } = (answer ?? {}) as {
    result?: unknown;
    error?: { code?: unknown; message?: unknown } | null;
  };
  if (error) {
    const isStarting = error.code === WARMING_UP;
    throw new PlatformError(isStarting ? 'NODE_UNREACHABLE' : 'NODE_REFUSED', {
      reason: (typeof error.message === 'string' ? error.message : 'the node names no reason').slice(0, MAX_REASON),
      ...occasion,
      rpcCode: typeof error.code === 'number' ? error.code : undefined
    });
  }
  if (result === undefined)
    throw new PlatformError('NODE_UNREACHABLE', { reason: 'the answer has no result', ...occasion });
  return result;
}
