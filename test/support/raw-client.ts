import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Not that of `fetch` and `ws`. */
const RAW_ADDRESS = '127.0.0.2';
const PATIENCE_MS = 10_000;

/** A client that says what it likes: bytes on a connection. */
export class RawClient {
  readonly socket: Socket;
  readonly ended: Promise<void>;
  #heard: Buffer = Buffer.alloc(0);
  #changed = Promise.withResolvers<void>();

  /** @param place host and port */
  static async open(
    place: string,
    { deaf = false, from = RAW_ADDRESS }: { readonly deaf?: boolean; readonly from?: string } = {}
  ): Promise<RawClient> {
    const [host, port] = place.split(':');
    const socket = connect({ host: host!, port: Number(port), localAddress: from, noDelay: true });
    socket.on('error', () => undefined); // to be cut is what it is here for
    if (deaf) socket.pause();
    await once(socket, 'connect');
    return new RawClient(socket, deaf);
  }

  private constructor(socket: Socket, deaf: boolean) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    for (const event of ['end', 'close']) socket.once(event, () => resolve());
    if (deaf) return;
    socket.on('data', (bytes: Buffer) => {
      this.#heard = Buffer.concat([this.#heard, bytes]);
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
  }

  say(bytes: string | Uint8Array): this {
    if (this.socket.writable) this.socket.write(bytes);
    return this;
  }

  /** Takes the bytes that were heard and not taken, once there are enough. */
  async hear<T>(what: string, take: (heard: Buffer) => T | undefined): Promise<T> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = take(this.#heard);
      if (found !== undefined) return found;
      if (late.aborted || this.socket.readableEnded || this.socket.destroyed)
        throw new Error(`not heard: ${what}; but ${JSON.stringify(this.#heard.toString('latin1').slice(0, 500))}`);
      await Promise.race([this.#changed.promise, this.ended, once(late, 'abort')]);
    }
  }

  /** The status of the next answer, which has a length. Its bytes are taken. */
  async status(): Promise<number> {
    return this.hear('an answer', (heard) => {
      const end = heard.indexOf('\r\n\r\n');
      const head = heard.toString('latin1', 0, Math.max(end, 0));
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? [];
      const [, length] = /^content-length: (\d+)$/im.exec(head) ?? [];
      const size = end + 4 + Number(length);
      if (status === undefined || heard.length < size) return undefined;
      this.#heard = heard.subarray(size);
      return Number(status);
    });
  }

  /** Makes a WebSocket of it. */
  async upgrade(path: string): Promise<this> {
    this.say(upgradeRequest(path));
    await this.hear('the upgrade', (heard) => {
      const end = heard.indexOf('\r\n\r\n');
      if (end < 0) return undefined;
      if (!heard.toString('latin1').startsWith('HTTP/1.1 101 ')) throw new Error(heard.toString('latin1', 0, 200));
      this.#heard = heard.subarray(end + 4);
      return true;
    });
    return this;
  }

  /** The code of the close frame that comes, after whatever else. */
  async closeCode(): Promise<number> {
    return this.hear('a close frame', (heard) => {
      for (let at = 0; at + 4 <= heard.length; ) {
        const length = heard[at + 1]! === 126 ? heard.readUInt16BE(at + 2) + 2 : heard[at + 1]!;
        if (heard[at] === 0x88) return heard.readUInt16BE(at + 2);
        at += 2 + length;
      }
      return undefined;
    });
  }
}

export function upgradeRequest(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`;
}

/** A client's frame, masked with zeros. @param head its first byte: FIN, RSV and opcode */
export function frame(head: number, payload: Uint8Array = Buffer.alloc(0), masked = true): Buffer {
  const size = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff];
  size[0]! |= masked ? 0x80 : 0;
  return Buffer.concat([Buffer.from([head, ...size]), Buffer.alloc(masked ? 4 : 0), payload]);
}
