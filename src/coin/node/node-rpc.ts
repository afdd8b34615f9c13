import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { hasCode, PlatformError } from '../../errors.ts';
import { readBounded } from '../../wire/bounded.ts';
import { parseJson } from '../../wire/json.ts';
import { parseExactJson } from './exact-json.ts';

/** Address, account and limits of a node. */
export interface NodeRpcOptions {
  /** `http://host:port` */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** Limit for one attempt, default 30 s. */
  readonly timeoutMs?: number;
  /** Attempts after the first, default 10. */
  readonly retries?: number;
  /** Pause before a further attempt, default 500 ms. */
  readonly retryDelayMs?: number;
  /** Pause after HTTP 429, default 5 s. */
  readonly rateLimitDelayMs?: number;
}

/** The error code of a coin node that is starting. */
const WARMING_UP = -28;
/** Statuses by which a gateway says that it did not get the node's answer. No node gives its own errors with them. */
const OF_GATEWAYS: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const CONNECTIONS = 8;
/** Most bytes of an answer. A block of 4 MB weight takes less than 40 MB as verbose JSON. */
const MAX_BODY_BYTES = 256 * 2 ** 20;
/** Most characters of the node's reason. */
const MAX_REASON = 500;

/**
 * JSON-RPC client of one coin node, over connections that are kept open.
 *
 * Amounts arrive as the text that the node sent, never as floating point.
 *
 * @see the section "Limits" of the specification for time limit and retries
 */
export class NodeRpc {
  readonly #options: Required<NodeRpcOptions>;
  readonly #pool: Pool;
  /** Start times of requests without an answer yet. */
  readonly #waiting = new Set<{ readonly since: number }>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** Start of the first failed request since the last answer. */
  #failedSince: number | null = null;
  #errorCount = 0;

  constructor(options: NodeRpcOptions) {
    this.#options = { timeoutMs: 30_000, retries: 10, retryDelayMs: 500, rateLimitDelayMs: 5_000, ...options };
    this.#pool = new Pool(options.url, { connections: CONNECTIONS, pipelining: 1 });
  }

  /** Failed attempts since the start. */
  get errorCount(): number {
    return this.#errorCount;
  }

  /** Seconds since the node's last answer; null before it. */
  get answerAgeS(): number | null {
    return Number.isFinite(this.#answeredAt) ? Math.floor((performance.now() - this.#answeredAt) / 1000) : null;
  }

  /** Milliseconds for which the node has left requests unanswered; 0 when the last one was answered. */
  get silentMs(): number {
    const first = [...this.#waiting].reduce(
      (earliest, { since: asked }) => Math.min(earliest, asked),
      this.#failedSince ?? Number.POSITIVE_INFINITY
    );
    const since = Math.max(first, this.#answeredAt);
    return Number.isFinite(since) && Number.isFinite(first) ? Math.max(0, performance.now() - since) : 0;
  }

  /**
   * Calls a method.
   *
   * @param patienceMs additional time that the call may need; it does not count as silence
   * @param maxBytes most bytes of the answer; beyond it NODE_REFUSED with `limitBytes` in its detail
   * @returns the result, unchecked
   * @throws {PlatformError} NODE_REFUSED when the node answers with an error (`rpcCode` in its detail),
   *   NODE_UNREACHABLE; or the signal's reason
   */
  async call(
    method: string,
    params: readonly unknown[] = [],
    signal?: AbortSignal,
    patienceMs = 0,
    maxBytes = MAX_BODY_BYTES
  ): Promise<unknown> {
    return await this.#retrying(method, signal, async () => {
      const call = { jsonrpc: '1.0', id: method, method, params };
      const { body, occasion } = await this.#send(method, call, signal, maxBytes, patienceMs);
      return resultOf(parseBody(body, parseExactJson, occasion), occasion);
    });
  }

  /**
   * Calls one method many times in one request. Use it for results that are text: numbers in them are floating point.
   *
   * @param isPartial whether an item that the node does not have becomes null; otherwise it fails the batch, as other
   *   refusals do
   * @param maxBytes most bytes of the answer; beyond it NODE_REFUSED with `limitBytes` in its detail
   * @returns a result for each list of parameters, in their order
   * @throws as `call` does
   */
  async batch(
    method: string,
    calls: readonly (readonly unknown[])[],
    { signal, isPartial = false, maxBytes = MAX_BODY_BYTES }: BatchOptions = {}
  ): Promise<readonly unknown[]> {
    if (calls.length === 0) return [];
    return await this.#retrying(method, signal, async () => {
      const { body, occasion } = await this.#send(
        method,
        calls.map((params, id) => ({ jsonrpc: '1.0', id, method, params })),
        signal,
        maxBytes
      );
      const answers = parseBody(body, JSON.parse, occasion);
      if (!Array.isArray(answers)) resultOf(answers, occasion);
      const byId = new Map((answers as unknown[]).map((answer) => [Object(answer).id as unknown, answer]));
      return calls.map((_, id) => (isPartial ? resultOrNull : resultOf)(byId.get(id), occasion));
    });
  }

  /**
   * Returns bytes that the node serves by HTTP GET.
   *
   * @throws {PlatformError} NODE_REFUSED when the node does not serve the path, NODE_UNREACHABLE; or the signal's
   *   reason
   */
  async get(path: string, signal?: AbortSignal): Promise<Buffer> {
    return await this.#retrying(path, signal, async () => {
      const { body, occasion } = await this.#request({ method: 'GET', path }, path, signal);
      const { status } = occasion;
      if (status === 200) return body;
      const reason = body.toString('utf8', 0, MAX_REASON).trim();
      throw new PlatformError(status === 429 || status >= 500 ? 'NODE_UNREACHABLE' : 'NODE_REFUSED', {
        reason,
        ...occasion
      });
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #retrying<T>(method: string, signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (caught) {
        signal?.throwIfAborted();
        this.#errorCount += 1;
        const error = PlatformError.from(caught, 'NODE_UNREACHABLE', { node: this.#options.url, method });
        if (error.code !== 'NODE_UNREACHABLE' || failures >= this.#options.retries) throw error;
        const pauseMs = error.detail['status'] === 429 ? this.#options.rateLimitDelayMs : this.#options.retryDelayMs;
        await sleep(pauseMs, undefined, signal ? { signal } : {});
      }
    }
  }

  async #send(
    method: string,
    calls: unknown,
    signal?: AbortSignal,
    maxBytes = MAX_BODY_BYTES,
    patienceMs = 0
  ): Promise<Answer> {
    const { user, password } = this.#options;
    const headers = {
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    };
    const answer = await this.#request(
      { method: 'POST', path: '/', headers, body: JSON.stringify(calls) },
      method,
      signal,
      maxBytes,
      patienceMs
    );
    const { body, occasion } = answer;
    if (OF_GATEWAYS.has(occasion.status))
      throw new PlatformError('NODE_UNREACHABLE', { reason: body.toString('utf8', 0, MAX_REASON).trim(), ...occasion });
    if (occasion.status !== 401 && occasion.status !== 403) return answer;
    const reason = "the node refuses NODE_USER and NODE_PASSWORD, or this machine's address";
    throw new PlatformError('NODE_REFUSED', { reason, ...occasion });
  }

  async #request(
    request: Dispatcher.RequestOptions,
    method: string,
    signal?: AbortSignal,
    limitBytes = MAX_BODY_BYTES,
    patienceMs = 0
  ): Promise<Answer> {
    const pending = { since: performance.now() + patienceMs };
    this.#waiting.add(pending);
    try {
      const answer = await this.#exchange(request, method, signal, limitBytes, patienceMs);
      this.#noteAnswer();
      return answer;
    } catch (caught) {
      if (hasCode(caught, 'NODE_REFUSED')) this.#noteAnswer();
      else if (!signal?.aborted) this.#failedSince ??= Math.min(pending.since, performance.now());
      throw caught;
    } finally {
      this.#waiting.delete(pending);
    }
  }

  #noteAnswer(): void {
    this.#answeredAt = performance.now();
    this.#failedSince = null;
  }

  async #exchange(
    request: Dispatcher.RequestOptions,
    method: string,
    signal: AbortSignal | undefined,
    limitBytes: number,
    patienceMs: number
  ): Promise<Answer> {
    const { url } = this.#options;
    const timeoutMs = this.#options.timeoutMs + patienceMs;
    const deadline = AbortSignal.timeout(timeoutMs);
    const { statusCode, body } = await this.#pool.request({
      ...request,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline
    });
    const bytes = await readBounded(
      body,
      limitBytes,
      () =>
        new PlatformError('NODE_REFUSED', {
          reason: `an answer is larger than ${limitBytes} bytes`,
          method,
          limitBytes
        })
    );
    return { body: bytes, occasion: { node: url, method, status: statusCode } };
  }
}

interface BatchOptions {
  readonly signal?: AbortSignal;
  readonly isPartial?: boolean;
  readonly maxBytes?: number;
}

/** An answer, and the facts for an error about it. */
interface Answer {
  readonly body: Buffer;
  readonly occasion: { readonly node: string; readonly method: string; readonly status: number };
}

function parseBody(body: Buffer, parse: (text: string) => unknown, occasion: Answer['occasion']): unknown {
  try {
    return parseJson(body, parse);
  } catch (cause) {
    const reason = `the answer is no JSON: ${body.toString('utf8', 0, 80)}`;
    throw new PlatformError('NODE_UNREACHABLE', { reason, ...occasion }, { cause });
  }
}

/** Error codes for a missing item: -5 of Core, -1 of bcoin, which uses it for all errors. */
const NOT_THERE: ReadonlySet<unknown> = new Set([-5, -1]);

/**
 * Returns whether an error means that the item does not exist. Without an index of transactions the node cannot know.
 */
function isAbsent({ code, message }: { readonly code?: unknown; readonly message?: unknown }): boolean {
  const text = String(message);
  return NOT_THERE.has(code) && /no such|not found|not in mempool/i.test(text) && !/index/i.test(text);
}

function resultOrNull(answer: unknown, occasion: Answer['occasion']): unknown {
  const { error } = Object(answer) as { error?: object | null };
  return error && isAbsent(error) ? null : resultOf(answer, occasion);
}

function resultOf(answer: unknown, occasion: Answer['occasion']): unknown {
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
