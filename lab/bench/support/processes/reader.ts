import { connect } from 'node:net';

const BUFFER_BYTES = 512 * 1024;
const HEADERS_BYTES = 16 * 1024;

/** One response, read as cheaply as it can be, so that the reader's own work does not count. */
export interface Read {
  readonly ms: number;
  /** Bytes after the headers, with the frame of a chunked body. */
  readonly bytes: number;
}

/** GETs a URL on a connection of its own. @throws {Error} when the answer is not 200 or ends before its end */
export async function readFast(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Read> {
  const { hostname, port, pathname, search } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const began = performance.now();
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let [bytes, head] = [0, ''];
  let tail = Buffer.alloc(0);
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback: (size) => {
        const at = head.indexOf('\r\n\r\n');
        if (at < 0) head += buffer.toString('latin1', 0, Math.min(size, HEADERS_BYTES));
        const end = head.indexOf('\r\n\r\n');
        if (at < 0 && end >= 0) bytes -= end + 4;
        bytes += size;
        if (size >= 5) tail = Buffer.from(buffer.subarray(size - 5, size));
        return true;
      }
    }
  });
  socket.on('error', reject);
  socket.on('connect', () => {
    const lines = Object.entries({ host: `${hostname}:${port}`, connection: 'close', ...headers });
    socket.write(
      `GET ${pathname}${search} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`
    );
  });
  socket.on('close', () => {
    const ms = performance.now() - began;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
    const complete = length === undefined ? tail.toString('latin1') === '0\r\n\r\n' : bytes === Number(length);
    if (!/^HTTP\/1\.1 200 /.test(head)) reject(new Error(`${url}: ${head.slice(0, 200)}`));
    else if (!complete) reject(new Error(`${url}: ended after ${bytes} bytes`));
    else resolve({ ms, bytes });
  });
  return promise;
}
