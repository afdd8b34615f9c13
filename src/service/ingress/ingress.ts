import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyServerOptions } from 'fastify';
import { isOfMachine } from '../callers/address.ts';
import { CHUNKS_COST, type ClientLimiter } from './client-limiter.ts';
import { InboundThrottle } from './inbound-throttle.ts';
import {
  HEADER_OVERFLOW,
  hasContent,
  MAX_HEADER_BYTES,
  MAX_HEADER_FIELDS,
  refusalOf,
  refusalText,
  unreadable
} from './refusals.ts';
import { readAbsoluteTarget } from './target.ts';

export interface IngressOptions {
  readonly clientLimiter: ClientLimiter;
  /** The requests whose upgrade the service takes. Default: none. */
  readonly isUpgrade?: (request: IncomingMessage) => boolean;
  /** Refusals carry a code. */
  readonly withCode: boolean;
}

/** Time limits of a request on its way in, checked every CHECK_EVERY_MS. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_EVERY_MS = 5_000;
/** Longer than a proxy's, so that the proxy ends an idle connection. */
const KEEP_ALIVE_MS = 72_000;
/** A socket without traffic for this long is ended; a snapshot build without progress fails earlier. */
const IDLE_TIMEOUT_MS = 240_000;
/** Requests of one connection that may wait for the answer to an earlier one. */
const MAX_WAITING = 8;
/** Time for a refused caller to read the reason. */
const LINGER_MS = 1_000;

const limiters = new WeakMap<Server, ClientLimiter>();

/** Counts a connection to another port of a service before its handshake. @returns false for one that was ended */
export function arriveSecurely(service: Server, socket: Socket): boolean {
  return limiters.get(service)?.arrive(socket, true) ?? true;
}

/** Counts an upgrade of a service. @returns the milliseconds that its answer is to wait */
export function countUpgrade(service: Server, request: IncomingMessage): number {
  return limiters.get(service)?.upgrade(request) ?? 0;
}

/**
 * Returns the Fastify options that protect a service's routes: limits of time and size, and one request of a connection at a time,
 * so that a caller that does not read gets no further answers.
 *
 * @see RFC 9112 sections 9.3.2 (pipelining) and 9.5 (failures and timeouts)
 */
export function ingress({
  clientLimiter,
  isUpgrade,
  withCode
}: IngressOptions): Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'> {
  const guarded = new WeakMap<Duplex, GuardedSocket>();
  return {
    serverFactory: (handler) => {
      const server = createServer({
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_EVERY_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        requireHostHeader: false, // refused here, like everything else
        shouldUpgradeCallback: (request) => {
          readAbsoluteTarget(request);
          // While its connection owes an earlier answer, it is answered after that one, as any request is.
          if (hasContent(request.headers) || refusalOf(request) || !guarded.get(request.socket)?.isIdle) return false;
          return isUpgrade?.(request) === true;
        }
      });
      limiters.set(server, clientLimiter);
      server.setTimeout(IDLE_TIMEOUT_MS);
      server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
      const enter: RequestListener = (request, response) => {
        const { socket } = request;
        if (!socket.writable) return; // it was hung up on
        guarded.get(socket)?.enter(request, response);
      };
      for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, enter);
      server.on('connection', (socket: Socket) => {
        if (!('encrypted' in socket)) clientLimiter.arrive(socket); // TLS is counted before its handshake
        guarded.set(socket, new GuardedSocket(socket, handler, { clientLimiter, withCode }));
      });
      return server;
    },
    clientErrorHandler: ({ code }, socket) => {
      const isFault = /^HPE_(?!INVALID_EOF)/.test(code); // what the network breaks is nobody's fault
      // Any page in a browser on this machine can name a long URL: other programs here must not lose what they have open.
      const isOfPage = code === HEADER_OVERFLOW && isOfMachine(socket);
      if (isFault && !isOfPage) clientLimiter.fail(socket);
      const isMidAnswer = guarded.get(socket)?.isAnswering === true; // a second answer would be taken for a part of it
      if (!socket.writable || isMidAnswer || !(isFault || code === 'ERR_HTTP_REQUEST_TIMEOUT')) socket.destroy();
      else {
        socket.write(refusalText(unreadable(code), withCode));
        hangUp(socket);
      }
    }
  };
}

/** Ends a connection without waiting for the other side. */
export function hangUp(socket: Duplex): void {
  socket.end();
  socket.pause();
  const end = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(end));
}

/** The requests of one connection that are not answered, in order. */
class GuardedSocket {
  readonly #socket: Socket;
  readonly #clientLimiter: ClientLimiter;
  readonly #handler: RequestListener;
  readonly #withCode: boolean;
  readonly #slices: InboundThrottle;
  readonly #waiting: [request: IncomingMessage, response: ServerResponse][] = [];
  /** The response to the request that is being answered. */
  #current: ServerResponse | undefined;

  constructor(
    socket: Socket,
    handler: RequestListener,
    { clientLimiter, withCode }: Pick<IngressOptions, 'clientLimiter' | 'withCode'>
  ) {
    this.#socket = socket;
    this.#handler = handler;
    this.#clientLimiter = clientLimiter;
    this.#withCode = withCode;
    this.#slices = new InboundThrottle(socket, () => this.#flood());
  }

  get isIdle(): boolean {
    return this.#current === undefined;
  }

  get isAnswering(): boolean {
    return this.#current?.headersSent === true;
  }

  enter(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers['transfer-encoding'] !== undefined) this.#clientLimiter.fail(this.#socket, CHUNKS_COST);
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push([request, response]);
      if (!hasContent(request.headers)) this.#slices.hold(); // what comes now is of a later one
      this.#next();
    } else this.#flood();
  }

  #flood(): void {
    this.#clientLimiter.fail(this.#socket);
    this.#socket.destroy();
  }

  #next(): void {
    if (this.#current) return;
    const next = this.#waiting.shift();
    if (next) this.#answer(...next);
    else this.#slices.release();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#current = response;
    const waitMs = this.#clientLimiter.ask(request);
    if (waitMs > 0) setTimeout(() => this.#serve(request, response), waitMs).unref();
    else this.#serve(request, response);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#socket.writable) return;
    readAbsoluteTarget(request);
    const refusal = refusalOf(request);
    if (refusal) {
      this.#clientLimiter.fail(this.#socket);
      this.#socket.write(refusalText(refusal, this.#withCode));
      if (hasContent(request.headers))
        this.#socket.destroy(); // to be read at all, it would be read on and on
      else hangUp(this.#socket);
      return;
    }
    response.once('close', () => {
      this.#current = undefined;
      if (!this.#socket.writable) return;
      if (request.complete) this.#next();
      else hangUp(this.#socket); // the client need not send the rest of a request that is answered
    });
    if (request.headers.expect !== undefined) response.writeContinue();
    this.#handler(request, response);
  }
}
