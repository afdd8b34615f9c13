import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A peer that answers each request with the given bytes, whatever they are, and hangs up. */
export class RawPeer {
  answer: Uint8Array = Buffer.alloc(0);
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      let heard = '';
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
      socket.setEncoding('latin1').on('data', (text) => {
        heard += text;
        const [head = '', body] = heard.split('\r\n\r\n', 2);
        const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
        if (body !== undefined && body.length >= length) socket.end(this.answer);
      });
    });
  }

  static async open(): Promise<RawPeer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RawPeer(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }
}
