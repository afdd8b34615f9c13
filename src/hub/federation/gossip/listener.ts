import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { MOST_ENVELOPE_BYTES } from './envelope.ts';
import type { MeshOptions } from './options.ts';
import type { PeerSocket } from './peer-socket.ts';

/** Code of a refusal. @see RFC 6455, section 7.4.1 */
const REFUSED = 1008;

/** Accepts sockets of other hubs, few of strangers and little from each. */
export class Listener {
  readonly #options: MeshOptions;
  readonly #accept: (socket: WebSocket) => PeerSocket;
  /** Sockets whose keys are not proved, with the address that each came from. */
  readonly #strangers = new Map<PeerSocket, string>();
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

  #take(socket: WebSocket, request: IncomingMessage): void {
    const { limits } = this.#options;
    const address = request.socket.remoteAddress ?? '';
    const same = [...this.#strangers.values()].filter((other) => other === address).length;
    if (same >= limits.strangersPerAddress || this.#strangers.size >= limits.strangers) {
      socket.on('error', () => socket.terminate());
      socket.close(REFUSED, 'too many');
      setTimeout(() => socket.terminate(), 1_000).unref();
      return;
    }
    const stranger = this.#accept(socket);
    this.#strangers.set(stranger, address);
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
