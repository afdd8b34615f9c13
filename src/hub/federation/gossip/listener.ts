import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { boundConnections } from './connections.ts';
import { type Envelope, MOST_ENVELOPE_BYTES } from './envelope.ts';
import type { MeshOptions } from './options.ts';
import type { PeerSocket } from './peer-socket.ts';

/** Status of an answer to who asks for anything but a WebSocket. @see RFC 9110, section 15.5.22 */
const NO_WEBSOCKET = 426;

/** A socket whose key is not proved. */
interface Stranger {
  /** Address that it came from: that of a proxy, where one is before the hub. */
  readonly address: string;
  /** Member whose genuine HEARTBEAT it has sent, which nobody else can make; null before. */
  greetedAs: string | null;
}

/** HEARTBEATs of one member that are remembered: each makes one socket that of a member. */
const MOST_GREETINGS = 64;

/**
 * Accepts sockets of other hubs, few of strangers and little from each. One more stranger than the limit closes the oldest of them:
 * who says nothing keeps no member away, also where all come by one proxy. Members have places of their own, one each: that with the
 * newest greeting.
 */
export class Listener {
  readonly #options: MeshOptions;
  readonly #accept: (socket: WebSocket) => PeerSocket;
  /** The oldest first. */
  readonly #strangers = new Map<PeerSocket, Stranger>();
  /** By member, the signatures of its last greetings. */
  readonly #greetings = new Map<string, Set<string>>();
  #server: WebSocketServer | null = null;
  #http: Server | null = null;

  constructor(options: MeshOptions, accept: (socket: WebSocket) => PeerSocket) {
    this.#options = options;
    this.#accept = accept;
  }

  /** Listens. @returns the port  @throws the error of the system when the port is taken */
  async start(): Promise<number> {
    const { host, port, limits } = this.#options;
    const http = createServer((_, response) => {
      response.writeHead(NO_WEBSOCKET, { connection: 'close' }).end();
    });
    boundConnections(http, limits);
    this.#http = http;
    const server = new WebSocketServer({
      server: http,
      path: '/',
      perMessageDeflate: false,
      clientTracking: true,
      maxPayload: MOST_ENVELOPE_BYTES,
      maxFragments: 64,
      maxBufferedChunks: 4_096
    } as ConstructorParameters<typeof WebSocketServer>[0]);
    this.#server = server;
    server.on('connection', (socket, request) => this.#take(socket, request));
    await new Promise<void>((resolve, reject) => {
      server.once('listening', resolve);
      server.once('error', reject);
      http.listen(port, host);
    });
    return (server.address() as AddressInfo).port;
  }

  /** Closes the port and what came in by it. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    for (const socket of server.clients) socket.terminate();
    server.close();
    await new Promise<void>((resolve) => {
      this.#http?.close(() => resolve());
      this.#http?.closeAllConnections();
    });
  }

  /** Takes note that a socket has proved its key, or is closed. */
  settle(socket: PeerSocket): void {
    this.#strangers.delete(socket);
  }

  /** Takes note that a socket has sent a genuine HEARTBEAT of a member. One that was sent before makes no socket that of a member. */
  greet(socket: PeerSocket, { sender, sig }: Envelope): void {
    const stranger = this.#strangers.get(socket);
    const greetings = this.#greetings.get(sender) ?? new Set();
    this.#greetings.set(sender, greetings);
    if (!stranger || greetings.has(sig)) return;
    const [first] = greetings;
    if (first !== undefined && greetings.size >= MOST_GREETINGS) greetings.delete(first);
    greetings.add(sig);
    for (const [other, { greetedAs }] of this.#strangers)
      if (other !== socket && greetedAs === sender) {
        this.#strangers.delete(other);
        other.close('second socket');
      }
    stranger.greetedAs = sender;
  }

  /** Makes room for one more socket of an address, by the place of another one where it must be. */
  #makeRoom(address: string): void {
    const { limits } = this.#options;
    const silent = [...this.#strangers].filter(([, { greetedAs }]) => greetedAs === null);
    const same = silent.filter(([, stranger]) => stranger.address === address);
    const isFull = same.length >= limits.strangersPerAddress;
    if (!isFull && silent.length < limits.strangers) return;
    const [oldest] = (isFull ? same : silent)[0]!;
    this.#strangers.delete(oldest);
    oldest.close('too many');
  }

  #take(socket: WebSocket, request: IncomingMessage): void {
    const { limits } = this.#options;
    const address = request.socket.remoteAddress ?? '';
    this.#makeRoom(address);
    const stranger = this.#accept(socket);
    this.#strangers.set(stranger, { address, greetedAs: null });
    const tooLate = setTimeout(() => {
      if (stranger.peer === null) socket.terminate();
    }, limits.handshakeMs);
    // A frame is buffered until it is whole, so bytes are counted as they come.
    const count = () => {
      if (stranger.peer !== null) request.socket.off('data', count);
      else if (request.socket.bytesRead > limits.strangerBytes) socket.terminate();
    };
    request.socket.on('data', count);
    socket.on('close', () => clearTimeout(tooLate));
  }
}
