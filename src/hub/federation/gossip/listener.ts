import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { MOST_ENVELOPE_BYTES } from './envelope.ts';
import type { MeshOptions } from './options.ts';
import type { PeerSocket } from './peer-socket.ts';

/** Code of a refusal. @see RFC 6455, section 7.4.1 */
const REFUSED = 1008;

/** A socket whose key is not proved. */
interface Stranger {
  /** Address that it came from: that of a proxy, where one is before the hub. */
  readonly address: string;
  /** Whether it has sent a genuine HEARTBEAT of a member, which nobody else can make. */
  hasGreeted: boolean;
}

/**
 * Accepts sockets of other hubs, few of strangers and little from each. Where there are enough, the oldest that has not greeted as a member
 * gives its place up: who says nothing keeps no member away, also where all come by one proxy.
 */
export class Listener {
  readonly #options: MeshOptions;
  readonly #accept: (socket: WebSocket) => PeerSocket;
  /** The oldest first. */
  readonly #strangers = new Map<PeerSocket, Stranger>();
  #server: WebSocketServer | null = null;

  constructor(options: MeshOptions, accept: (socket: WebSocket) => PeerSocket) {
    this.#options = options;
    this.#accept = accept;
  }

  /** Listens. @returns the port  @throws the error of the system when the port is taken */
  async start(): Promise<number> {
    const { host, port } = this.#options;
    const server = new WebSocketServer({
      host,
      port,
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
    });
    return (server.address() as AddressInfo).port;
  }

  /** Closes the port and what came in by it. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    for (const socket of server.clients) socket.terminate();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }

  /** Takes note that a socket has proved its key, or is closed. */
  settle(socket: PeerSocket): void {
    this.#strangers.delete(socket);
  }

  /** Takes note that a socket has sent a genuine HEARTBEAT of a member. */
  greet(socket: PeerSocket): void {
    const stranger = this.#strangers.get(socket);
    if (stranger) stranger.hasGreeted = true;
  }

  /** Returns whether there is room for one more socket of an address, by the place of another one where it must be. */
  #makeRoom(address: string): boolean {
    const { limits } = this.#options;
    const same = [...this.#strangers].filter(([, stranger]) => stranger.address === address);
    const isFull = same.length >= limits.strangersPerAddress;
    if (!isFull && this.#strangers.size < limits.strangers) return true;
    const [oldest] = (isFull ? same : [...this.#strangers]).find(([, { hasGreeted }]) => !hasGreeted) ?? [];
    if (!oldest) return false;
    this.#strangers.delete(oldest);
    oldest.close('too many');
    return true;
  }

  #take(socket: WebSocket, request: IncomingMessage): void {
    const { limits } = this.#options;
    const address = request.socket.remoteAddress ?? '';
    if (!this.#makeRoom(address)) {
      socket.on('error', () => socket.terminate());
      socket.close(REFUSED, 'too many');
      setTimeout(() => socket.terminate(), 1_000).unref();
      return;
    }
    const stranger = this.#accept(socket);
    this.#strangers.set(stranger, { address, hasGreeted: false });
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
