import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { PlatformError } from '../../errors.ts';
import { count } from '../../observe/counters.ts';
import {
  type Announcement,
  AnnouncementSchema,
  type Learned,
  type Life,
  MAX_MESSAGE_BYTES,
  type ServerMessage,
  ServerMessageSchema,
  type StatusMessage,
  StatusMessageSchema
} from '../../wire/data/messages.ts';
import { type Shape, shapeOf } from '../../wire/data/shape.ts';
import { envelopeOf } from '../../wire/envelope.ts';
import { parseJson } from '../../wire/json.ts';
import { MAX_TEXT_BYTES } from '../../wire/parsed-limit.ts';
import { AUTH_HEADER, type AuthMessage, type HeartbeatMessage } from '../../wire/validator.ts';
import type { BlockName, SourceClient } from './source-client.ts';
import { readRetryAfter, sourceError } from './source-connection.ts';

/** Limit of messages that wait to be applied; beyond it the replica drops the connection and catches up by REST. */
const MAX_QUEUE_BYTES = Math.min(256 * 2 ** 20, MAX_TEXT_BYTES);
/** Waiting messages of so many bytes are parsed before they are asked for. */
const AHEAD_BYTES = 4 * 2 ** 20;
/** The least size counted for one message: an empty one takes memory too. */
const LEAST_BYTES = 1024;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A server pings every 30 seconds; this long without any sign it counts as gone. */
const SILENCE_LIMIT_MS = 90_000;
const WATCH_MS = 1_000;
/** Pause between two pings. */
const PING_MS = 2_500;
/** A server sends its status at once. */
const STATUS_WAIT_MS = 1_000;

/** A message as a subscription reads it. */
type Heard = Announcement | ServerMessage;

/** Parts of each message that a subscription reads. */
interface Reading<M extends Heard> {
  readonly maxMessageBytes: number;
  /** Returns the bytes of a message that are kept until it is taken. */
  readonly kept: (data: Buffer) => Buffer;
  readonly shape: Shape<M>;
}

const WHOLE: Reading<ServerMessage> = {
  maxMessageBytes: MAX_MESSAGE_BYTES,
  kept: (data) => data,
  shape: shapeOf(ServerMessageSchema)
};
/** Rows are let go as they come, and never parsed. A source that sends more in one message is asked by REST. */
const ENVELOPES: Reading<Announcement> = {
  maxMessageBytes: Math.min(64 * 2 ** 20, MAX_TEXT_BYTES),
  kept: (data) => Buffer.from(envelopeOf(data)),
  shape: shapeOf(AnnouncementSchema)
};

/** The first fields of a message with its source's position. */
const HEAD = /^\{"type":"(block|reorg)"[^{[]*?"block_index":(\d{1,15})\b/;
const HEAD_BYTES = 512;
const STATUS_HEAD = '{"type":"status"';
const isStatus = shapeOf(StatusMessageSchema);

const weightOf = ({ length }: { readonly length: number }): number => Math.max(length, LEAST_BYTES);

/** A waiting message that is parsed, and its length in bytes. */
interface Parsed<M> {
  readonly message: M;
  readonly length: number;
}

/** One live stream of one source: messages are taken one by one, in order. */
export class Subscription<M extends Heard = ServerMessage> {
  readonly #reading: Reading<M>;
  readonly #socket: WebSocket;
  readonly #source: SourceClient;
  readonly #queue: Buffer[] = [];
  /** Messages that come before the queue. */
  readonly #parsed: Parsed<M>[] = [];
  #parsedBytes = 0;
  #isParsing = false;
  readonly #timers: NodeJS.Timeout[] = [];
  #queuedBytes = 0;
  #wake: (() => void) | undefined;
  #fault: PlatformError | undefined;
  #heardAt = performance.now();
  /** Looks since anything was heard: a thread that was busy itself has not waited. */
  #silentLooks = 0;
  #newest: number | null = null;
  /** `learned` of the newest status, taken or not; undefined: no status came. */
  #learned: Learned | null | undefined;
  /** Starts of the source, by its newest status; empty: it does not say. */
  lives: readonly Life[] = [];
  /** The source sends what followed the block that it was given. */
  isResumed = false;
  /** The time at which the MariaDB of the source fell silent, by its newest status and `performance.now()`; null: it answers. */
  #databaseSilentSince: number | null = null;
  /** Host and port that were asked for, where the server understands an `auth` that names it. */
  serverName: string | undefined;
  /** Called when a message came. */
  onArrival: () => void = () => undefined;

  private constructor(source: SourceClient, socket: WebSocket, reading: Reading<M>) {
    this.#source = source;
    this.#reading = reading;
    this.#socket = socket;
    const heard = () => {
      this.#heardAt = performance.now();
      this.#silentLooks = 0;
    };
    socket.on('ping', heard).on('pong', heard);
    socket.on('upgrade', ({ headers }) => {
      if (headers[AUTH_HEADER] === 'bound') this.serverName = new URL(source.url).host;
    });
    socket.on('message', (data: Buffer) => {
      heard();
      this.#take(data);
    });
    socket.on('error', (caught) => this.#end(sourceError(caught, source.url, 'the subscription')));
    socket.on('close', (code, reason) => {
      const why = reason.length > 0 ? `: ${reason.toString('utf8').slice(0, 200)}` : '';
      this.#end(
        new PlatformError('SOURCE_UNREACHABLE', {
          reason: `${source.url} closed the subscription (${code}${why})`,
          source: source.url
        })
      );
    });
    const ping = () => socket.readyState === WebSocket.OPEN && socket.ping();
    this.#timers.push(setInterval(() => this.#watch(), WATCH_MS).unref(), setInterval(ping, PING_MS).unref());
  }

  /**
   * @param after the replica's block: a source that knows it sends what followed; one of another make begins with what comes
   * @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED
   */
  static async open(source: SourceClient, after?: BlockName): Promise<Subscription> {
    return Subscription.#connect(source, source.streamPath(after), WHOLE);
  }

  /**
   * Subscribes to the names of a source's blocks, without their rows. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED
   */
  static async listen(source: SourceClient, path: string): Promise<Subscription<Announcement>> {
    return Subscription.#connect(source, path, ENVELOPES);
  }

  static async #connect<M extends Heard>(
    source: SourceClient,
    path: string,
    reading: Reading<M>
  ): Promise<Subscription<M>> {
    const url = `${source.url.replace(/^http/, 'ws')}${path}`;
    const socket = new WebSocket(url, {
      headers: source.authorization,
      ...(source.authorities ? { ca: [...source.authorities] } : {}),
      maxPayload: reading.maxMessageBytes,
      perMessageDeflate: false,
      followRedirects: false,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once('open', () => resolve());
    socket.once('error', (caught) => reject(sourceError(caught, source.url, 'the subscription')));
    socket.once('unexpected-response', (_request, { statusCode, headers }) => {
      reject(
        new PlatformError('SOURCE_REFUSED', {
          reason: `${source.url} answered ${statusCode} to the subscription`,
          source: source.url,
          status: statusCode,
          retryAfterS: readRetryAfter(headers['retry-after'])
        })
      );
      socket.terminate();
    });
    const subscription = new Subscription<M>(source, socket, reading);
    await promise;
    return subscription;
  }

  /** Waits for a time, or until the connection is gone. @throws {PlatformError} SOURCE_UNREACHABLE */
  async pause(waitMs: number, signal: AbortSignal): Promise<void> {
    await sleep(waitMs, undefined, { signal });
    if (this.#fault) throw this.#fault;
  }

  /** Returns the next message, or null after `waitMs` without one. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_INVALID */
  async next(waitMs: number, signal: AbortSignal): Promise<M | null> {
    if (this.waiting === 0 && !this.#fault) await this.#arrival(waitMs, signal);
    const parsed = this.#parsed.shift();
    const taken = parsed ?? this.#queue.shift();
    if (taken !== undefined) {
      this.#queuedBytes -= weightOf(taken);
      if (parsed) this.#parsedBytes -= weightOf(parsed);
      this.#parseAhead();
      return parsed ? parsed.message : this.#parse(taken as Buffer);
    }
    if (this.#fault) throw this.#fault;
    return null;
  }

  /** The highest block of those messages that came, taken or not, as far as their beginnings say; null: not known. */
  get newest(): number | null {
    return this.#newest;
  }

  /** A message came. A source that does not know the block that it was given ends the connection without one. */
  get hasBegun(): boolean {
    return this.#learned !== undefined;
  }

  /** Returns `learned` of the newest status that came; waits a moment for the first message. Null: the source learned nothing. */
  async learned(signal: AbortSignal): Promise<Learned | null> {
    if (this.#learned === undefined && !this.#fault) await this.#arrival(STATUS_WAIT_MS, signal);
    return this.#learned ?? null;
  }

  /** Milliseconds since anything was heard of the source, be it the answer to a ping. */
  get silentMs(): number {
    return WATCH_MS * this.#silentLooks;
  }

  /** Milliseconds for which the source's MariaDB has answered nothing, as the source says. */
  get databaseSilentMs(): number {
    return this.#databaseSilentSince === null ? 0 : performance.now() - this.#databaseSilentSince;
  }

  /** Error that ended the connection. */
  get fault(): PlatformError | undefined {
    return this.#fault;
  }

  /** Messages that are here and were not taken. */
  get waiting(): number {
    return this.#parsed.length + this.#queue.length;
  }

  /** Length of the next message; null when none is here. */
  get nextBytes(): number | null {
    return (this.#parsed[0] ?? this.#queue[0])?.length ?? null;
  }

  /** Sends a message. @returns false when the connection is not open */
  send(message: HeartbeatMessage | AuthMessage): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  close(): void {
    this.#end(
      new PlatformError('SOURCE_UNREACHABLE', { reason: 'the subscription was closed here', source: this.#source.url })
    );
    this.#socket.close(1000);
    setTimeout(() => this.#socket.terminate(), 1_000).unref();
  }

  async #arrival(waitMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, waitMs);
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    this.#wake = undefined;
  }

  #take(received: Buffer): void {
    if (this.#fault) return;
    count('bytes.in', received.length);
    const data = this.#reading.kept(received);
    if (this.#queuedBytes + weightOf(data) > MAX_QUEUE_BYTES) {
      this.#end(
        new PlatformError('SOURCE_UNREACHABLE', {
          reason: `more than ${MAX_QUEUE_BYTES} bytes of messages wait: catching up by snapshot`,
          source: this.#source.url
        })
      );
      this.#socket.terminate();
      return;
    }
    this.#queue.push(data);
    this.#queuedBytes += weightOf(data);
    const head = data.toString('latin1', 0, HEAD_BYTES);
    if (head.startsWith(STATUS_HEAD)) this.#note(statusOf(data));
    this.#learned ??= null;
    const [, type, height] = HEAD.exec(head) ?? [];
    if (height !== undefined) this.#newest = type === 'block' ? Number(height) : Number(height) - 1;
    this.onArrival();
    this.#wake?.();
    this.#parseAhead();
  }

  /** Parses what waits while its taker waits for a database, one message in a turn of the event loop. */
  #parseAhead(): void {
    if (this.#isParsing || this.#queue.length === 0) return;
    this.#isParsing = true;
    setImmediate(() => {
      this.#isParsing = false;
      const [data] = this.#queue;
      if (data === undefined || this.#parsedBytes + weightOf(data) > AHEAD_BYTES) return;
      try {
        this.#parsed.push({ message: this.#parse(data), length: data.length });
      } catch {
        return; // its taker gets the fault
      }
      this.#parsedBytes += weightOf(data);
      this.#queue.shift();
      this.#parseAhead();
    });
  }

  #note(status: StatusMessage | null): void {
    this.#learned = status?.learned ?? null;
    this.lives = status?.lives ?? [];
    if (status?.resumed) this.isResumed = true;
    const silentS = status?.database_silent_s;
    this.#databaseSilentSince = silentS === undefined ? null : performance.now() - 1_000 * silentS;
  }

  #parse(data: Buffer): M {
    let message: unknown;
    try {
      message = parseJson(data);
    } catch (cause) {
      throw new PlatformError(
        'SOURCE_INVALID',
        {
          reason: `${this.#source.url} sent a message that is refused as JSON: ${(cause as Error).message.slice(0, 100)}`
        },
        { cause }
      );
    }
    const { chain, network, dbType } = this.#source.id;
    if (!this.#reading.shape.Check(message)) {
      throw new PlatformError('SOURCE_INVALID', {
        reason: `${this.#source.url} sent a message that does not fit its schema`
      });
    }
    if (message.chain !== chain || message.network !== network || message.dbType !== dbType) {
      throw new PlatformError('SOURCE_INVALID', { reason: `${this.#source.url} sent a message of another database` });
    }
    return message;
  }

  #end(fault: PlatformError): void {
    this.#fault ??= fault;
    for (const timer of this.#timers) clearInterval(timer);
    this.#wake?.();
  }

  #watch(): void {
    this.#silentLooks++;
    if (performance.now() - this.#heardAt <= SILENCE_LIMIT_MS) return;
    this.#end(
      new PlatformError('SOURCE_UNREACHABLE', {
        reason: `${this.#source.url} was silent for ${SILENCE_LIMIT_MS} ms`,
        source: this.#source.url
      })
    );
    this.#socket.terminate();
  }
}

/** Reads a status; null if it does not fit its schema, which its taker reports. */
function statusOf(status: Buffer): StatusMessage | null {
  try {
    const message: unknown = parseJson(status);
    return isStatus.Check(message) ? message : null;
  } catch {
    return null;
  }
}
