import { pipeline } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { createGunzip } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import { PlatformError } from '../../errors.ts';
import { readBounded } from '../../wire/bounded.ts';
import type { Shape } from '../../wire/data/shape.ts';
import { parseJson } from '../../wire/json.ts';
import { steadily } from './steady.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** A snapshot's headers come when its build has begun. */
const HEADERS_TIMEOUT_MS = 60_000;
/** Silence in the middle of a body. */
const BODY_TIMEOUT_MS = 60_000;
const MAX_JSON_BYTES = 64 * 2 ** 20;
/** The longest wait for a source, whatever its Retry-After. */
const MAX_RETRY_AFTER_S = 3_600;
const MAX_ERROR_BYTES = 16 * 1024;

/** A response with an unread body. */
export interface OpenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
}

/** HTTP to one sync server. Its answers are hostile until checked; redirects are never followed. */
export class SourceConnection {
  readonly url: string;
  /** The authorities of its certificate where they are not the system's alone. */
  readonly authorities: readonly string[] | undefined;
  readonly #apiKey: string | undefined;
  readonly #agent: Agent;

  /** @param ca PEM of further authorities for its certificate */
  constructor(url: string, apiKey: string | undefined, ca: string | undefined) {
    this.url = url.replace(/(?<!\/)\/+$/, '');
    this.#apiKey = apiKey;
    this.authorities = ca === undefined ? undefined : [...getCACertificates('default'), ca];
    this.#agent = new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(this.authorities ? { ca: [...this.authorities] } : {}) },
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS
    });
  }

  /** The `Authorization` header for this source and no other. */
  get authorization(): Readonly<Record<string, string>> {
    return this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` };
  }

  /** Sends a GET; the caller reads or destroys the body. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED (401 and redirects) */
  async get(path: string, headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<OpenResponse> {
    try {
      const {
        statusCode,
        headers: received,
        body
      } = await this.#request(path, {
        method: 'GET',
        headers: { 'accept-encoding': 'gzip', ...this.authorization, ...headers },
        signal: signal ?? null
      });
      const flat = Object.fromEntries(Object.entries(received).map(([name, value]) => [name, String(value)]));
      const response = { status: statusCode, headers: flat, body };
      if (statusCode === 401 || (statusCode >= 300 && statusCode < 400 && statusCode !== 304))
        await this.refuse(response, path);
      return response;
    } catch (caught) {
      throw sourceError(caught, this.url, path);
    }
  }

  /** Sends JSON; the answer only acknowledges it. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED */
  async post(path: string, value: object, signal?: AbortSignal): Promise<void> {
    try {
      const { statusCode, body } = await this.#request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.authorization },
        body: JSON.stringify(value),
        signal: signal ?? null
      });
      if (statusCode !== 200) await this.refuse({ status: statusCode, headers: {}, body }, path);
      await body.dump();
    } catch (caught) {
      throw sourceError(caught, this.url, path);
    }
  }

  #request(path: string, options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>) {
    const { origin, pathname, search } = new URL(`${this.url}${path}`);
    return this.#agent.request({ ...options, origin, path: `${pathname}${search}` });
  }

  /** Turns an error answer into an error with the source's own message and its Retry-After. */
  async refuse({ status, headers, body }: OpenResponse, path: string): Promise<never> {
    const text = await readBounded(body, MAX_ERROR_BYTES, () => tooLong(MAX_ERROR_BYTES)).catch(() => Buffer.alloc(0));
    const errorText = /"error"\s*:\s*("(?:[^"\\]|\\.){0,300}")/.exec(text.toString('utf8'))?.[1] ?? '';
    const reason = `${this.url} answered ${status} to ${path}${errorText === '' ? '' : `: ${errorText}`}`;
    const retryAfterS = readRetryAfter(headers['retry-after']);
    throw new PlatformError('SOURCE_REFUSED', { reason, source: this.url, status, retryAfterS });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /**
   * Asks for the JSON of an answer, checked, and its headers.
   *
   * @throws {PlatformError} SOURCE_INVALID, SOURCE_REFUSED, SOURCE_UNREACHABLE
   */
  async answer<T>(path: string, shape: Shape<T>, signal?: AbortSignal) {
    const response = await this.get(path, {}, signal);
    if (response.status !== 200) return this.refuse(response, path);
    let value: unknown;
    try {
      value = parseJson(
        await readBounded(steadily(plainBody(response), this.url), MAX_JSON_BYTES, () => tooLong(MAX_JSON_BYTES))
      );
    } catch (caught) {
      if (caught instanceof SyntaxError) throw this.invalid(path, `is refused as JSON: ${caught.message.slice(0, 80)}`);
      throw sourceError(caught, this.url, path);
    }
    if (!shape.Check(value)) throw this.invalid(path, 'has another shape than the contract');
    return { value, headers: response.headers };
  }

  protected invalid(path: string, what: string): PlatformError {
    const reason = `the answer of ${this.url} to ${path} ${what}`;
    return new PlatformError('SOURCE_INVALID', { reason, source: this.url });
  }
}

/** Reads seconds, or a date, as RFC 9110 has it; undefined when it is neither. */
export function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(MAX_RETRY_AFTER_S, Math.max(0, Math.ceil(seconds))) : undefined;
}

/** Returns the body without its compression: some servers also compress answers that are not snapshots. */
function plainBody({ headers, body }: OpenResponse): AsyncIterable<Uint8Array> {
  return headers['content-encoding'] === 'gzip' ? pipeline(body, createGunzip(), () => undefined) : body;
}

const tooLong = (mostBytes: number) =>
  new PlatformError('SOURCE_INVALID', { reason: `an answer is longer than ${mostBytes} bytes` });

/** Returns a request's network error as a PlatformError, and other errors as they are. */
export function sourceError(caught: unknown, source: string, path: string): PlatformError {
  if (caught instanceof PlatformError) return caught;
  const { message, code } = caught as { message?: string; code?: string };
  return new PlatformError(
    'SOURCE_UNREACHABLE',
    { reason: `${source} did not answer ${path}: ${message || code}`, source },
    { cause: caught }
  );
}
