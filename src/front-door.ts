import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import rateLimit from '@fastify/rate-limit';
import type { FastifyServerOptions } from 'fastify';

export interface FrontDoorOptions {
  /** Connections that one address may have at once. */
  readonly maxPerAddress: (address: string) => number;
  /** Connections at once, of all addresses. */
  readonly maxConnections: number;
  /** Whom a connection counts for; undefined: nobody, as for a proxy of many. Default: its address, IPv6 by /64. */
  readonly addressOf?: (socket: Socket) => string | undefined;
  /** The requests whose upgrade the service takes. Default: none. */
  readonly isUpgrade?: (request: IncomingMessage) => boolean;
  /** Told of each connection that was turned away. */
  readonly onTurnedAway?: () => void;
}

const MAX_HEADER_BYTES = 16_384; // a since-snapshot's URL may have 14,000
const MAX_HEADER_FIELDS = 100;
/** What may take how long on its way in; looked at every few seconds. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_EVERY_MS = 5_000;
/** Above a proxy's, so that it is the proxy who ends an idle connection. */
const KEEP_ALIVE_MS = 72_000;
/** A socket on which nothing moves for so long is ended; a snapshot build that makes no progress fails earlier. */
const IDLE_TIMEOUT_MS = 240_000;
/** Requests of one connection that may wait for the answer to an earlier one. */
const MAX_WAITING = 8;
/** How long who is sent away has to read why. */
const LINGER_MS = 1_000;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Refusal {
  readonly status: number;
  readonly error: string;
}

/**
 * What stands before a service's routes, as options of its Fastify: how long anything may take, how much of it there
 * may be, and one request of a connection at a time, so that what is not read holds back what is asked.
 *
 * @see RFC 9112 sections 9.3.2 (pipelining) and 9.5 (failures and timeouts)
 */
export function frontDoor(
  options: FrontDoorOptions
): Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'> {
  /** The requests of each connection that are not answered, in order. */
  const lines = new WeakMap<Duplex, Exchange[]>();
  return {
    serverFactory: (handler) => {
      const server = createServer({
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_EVERY_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        shouldUpgradeCallback: (request) => !hasContent(request) && options.isUpgrade?.(request) === true
      });
      server.setTimeout(IDLE_TIMEOUT_MS);
      server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
      server.maxConnections = options.maxConnections;
      const enter = (request: IncomingMessage, response: ServerResponse) =>
        queue(lines, { request, response }, handler);
      for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, enter);
      server.on('connection', createCounter(options));
      return server;
    },
    clientErrorHandler: (error, socket) => {
      const isMidAnswer = (lines.get(socket)?.length ?? 0) > 0; // another answer would be taken for a part of it
      if (!socket.writable || error.code === 'ECONNRESET' || isMidAnswer) return void socket.destroy();
      socket.write(refusalText(MALFORMED[error.code] ?? { status: 400, error: 'malformed HTTP request' }));
      hangUp(socket);
    }
  };
}

/** Ends a connection, whatever its other side does. */
export function hangUp(socket: Duplex): void {
  socket.end();
  socket.pause();
  const end = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(end));
}

function createCounter({
  maxPerAddress,
  addressOf = ({ remoteAddress = '' }) => rateLimit.normalizeIP(remoteAddress),
  onTurnedAway
}: FrontDoorOptions): (socket: Socket) => void {
  const open = new Map<string, number>();
  return (socket) => {
    const address = addressOf(socket);
    if (address === undefined) return;
    const count = open.get(address) ?? 0;
    if (count >= maxPerAddress(address)) {
      socket.destroy();
      onTurnedAway?.();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  };
}

function queue(lines: WeakMap<Duplex, Exchange[]>, exchange: Exchange, handler: Handler): void {
  const { socket } = exchange.request;
  if (!socket.writable) return; // it was hung up on
  const line = lines.get(socket) ?? [];
  lines.set(socket, line);
  if (line.length > MAX_WAITING) {
    socket.destroy();
    return;
  }
  line.push(exchange);
  if (line.length === 1) serve(line, handler);
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

function serve(line: Exchange[], handler: Handler): void {
  const { request, response } = line[0]!;
  const { socket } = request;
  response.once('close', () => {
    line.shift();
    if (!socket.writable) return;
    if (!request.complete)
      hangUp(socket); // it need not send the rest of what is answered
    else if (line.length > 0) serve(line, handler);
  });
  const refusal = refusalOf(request);
  if (refusal) {
    socket.write(refusalText(refusal));
    hangUp(socket);
    return;
  }
  if (request.headers.expect !== undefined) response.writeContinue();
  handler(request, response);
}

/** What no route is to see. */
function refusalOf(request: IncomingMessage): Refusal | undefined {
  const { method, headers, rawHeaders } = request;
  if (rawHeaders.length > 2 * MAX_HEADER_FIELDS)
    return { status: 431, error: `more than ${MAX_HEADER_FIELDS} header fields` };
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect))
    return { status: 417, error: 'the only expectation that is met is 100-continue' };
  // Nobody would read it, and it would wait in memory, byte by byte where it comes so.
  if ((method === 'GET' || method === 'HEAD') && hasContent(request))
    return { status: 400, error: `${method} takes no body` };
  return undefined;
}

function hasContent({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** By the error's code, what is said of a request that cannot be read; all others are malformed. */
const MALFORMED: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request did not come in time' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'the chunk extensions are too long' },
  HPE_HEADER_OVERFLOW: { status: 431, error: `the header fields are larger than ${MAX_HEADER_BYTES} bytes` }
};

function refusalText({ status, error }: Refusal): string {
  const body = JSON.stringify({ error });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body
  ].join('\r\n');
}
