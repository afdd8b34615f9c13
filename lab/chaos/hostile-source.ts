import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import WebSocket, { WebSocketServer } from 'ws';
import { atEnd } from '../../test/support/cleanup.ts';

/** Ways in which a source breaks the contract; without one it only leads to a server. */
export const VICES = ['oversized', 'endless', 'lying', 'stuttering'] as const;
type Vice = (typeof VICES)[number];

const MEBIBYTE = 2 ** 20;
/** Bytes of which a parser makes twenty times as much. */
const EMPTY_ROWS = Buffer.alloc(40 * MEBIBYTE, '{},');
const HUGE_MESSAGE = Buffer.alloc(120 * MEBIBYTE, '[],');
const STUTTER_MS = 200;
const PIECE_MS = 5;

/** A way to a server that turns bad when it is told to, and good again. */
export class HostileSource {
  readonly url: string;
  readonly #server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #hostname: string;
  readonly #port: string;
  #vice: Vice | null = null;
  /** Ends what was begun under a vice. */
  #turned = new AbortController();

  private constructor(to: string, server: ReturnType<typeof createServer>) {
    ({ hostname: this.#hostname, port: this.#port } = new URL(to));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    server.on('request', (incoming, response) => {
      void this.#answer(incoming, response).catch(() => response.destroy());
    });
    server.on('upgrade', (incoming, socket, head) =>
      this.#sockets.handleUpgrade(incoming, socket, head, (client) => this.#subscribe(incoming, client))
    );
  }

  /** @param to the server behind it */
  static async open(to: string): Promise<HostileSource> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const source = new HostileSource(to, server);
    atEnd(async () => source.#close());
    return source;
  }

  /** Is so for a while, in the streams that are open too; then as good as its server, and whoever is connected begins anew. */
  async turn(vice: Vice, ms: number): Promise<void> {
    this.#vice = vice;
    await sleep(ms);
    this.#turnBack();
  }

  #turnBack(): void {
    this.#vice = null;
    this.#turned.abort();
    this.#turned = new AbortController();
    for (const client of this.#sockets.clients) client.terminate();
    this.#server.closeAllConnections();
  }

  #close(): void {
    this.#turnBack();
    this.#server.close();
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { signal } = this.#turned;
    const vice = this.#vice;
    const answer = await this.#ask(incoming, vice === null ? incoming.headers['accept-encoding'] : 'gzip');
    const { statusCode = 502, headers } = answer;
    const isSnapshot = headers['content-encoding'] !== undefined;
    const changed: IncomingHttpHeaders = { ...headers };
    if (vice !== null)
      for (const name of ['content-length', 'etag', 'accept-ranges', 'content-range']) delete changed[name];
    if (vice === 'lying') falsifyHeaders(changed);
    response.writeHead(statusCode, changed);
    const pieces =
      vice === 'stuttering'
        ? byByte(answer, signal)
        : vice === 'endless'
          ? endless(isSnapshot)
          : vice === 'oversized'
            ? oversized(isSnapshot)
            : vice === 'lying' && !isSnapshot
              ? falsified(answer)
              : answer;
    for await (const piece of pieces) {
      if (signal.aborted || response.destroyed) break;
      if (!response.write(piece)) await drained(response);
    }
    response.end();
  }

  async #ask(incoming: IncomingMessage, encoding: string | string[] | undefined): Promise<IncomingMessage> {
    const { url: path, method, headers } = incoming;
    const outgoing = request({
      hostname: this.#hostname,
      port: this.#port,
      path,
      method,
      headers: { ...headers, ...(encoding ? { 'accept-encoding': encoding } : {}) }
    });
    incoming.pipe(outgoing);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return answer;
  }

  #subscribe({ url, headers: { authorization } }: IncomingMessage, client: WebSocket): void {
    const peer = new WebSocket(`ws://${this.#hostname}:${this.#port}${url}`, {
      headers: authorization ? { authorization } : {}
    });
    peer.on('error', () => client.terminate()).on('close', () => client.close());
    client.on('error', () => peer.terminate()).on('close', () => peer.terminate());
    client.on('message', (data: Buffer) => peer.readyState === WebSocket.OPEN && peer.send(data, { binary: false }));
    peer.on('message', (data: Buffer) => {
      if (this.#vice === null) client.send(data, { binary: false });
      else speakWith(this.#vice, client, JSON.parse(data.toString()) as Record<string, unknown>, data);
    });
  }
}

/** Sends something else in place of a source's message. */
function speakWith(vice: Vice, client: WebSocket, message: Record<string, unknown>, data: Buffer): void {
  const { data: _, ...head } = message;
  const open = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":{"blocks":[`);
  switch (vice) {
    case 'oversized':
      client.send(message['type'] === 'block' ? Buffer.concat([open, EMPTY_ROWS, Buffer.from('{}]}}')]) : data);
      client.send(HUGE_MESSAGE);
      return;
    case 'endless':
      void (async () => {
        for (client.send(open, { fin: false }); client.readyState === WebSocket.OPEN; await sleep(PIECE_MS))
          client.send(EMPTY_ROWS.subarray(0, MEBIBYTE), { fin: false });
      })();
      return;
    case 'lying':
      client.send(JSON.stringify(falsify(message)), { binary: false });
      return;
    case 'stuttering':
      void (async () => {
        for (let at = 0; at < data.length && client.readyState === WebSocket.OPEN; at += 1) {
          client.send(data.subarray(at, at + 1), { fin: at === data.length - 1, binary: false });
          await sleep(STUTTER_MS);
        }
      })();
  }
}

/** The same, of another chain. */
function falsify<T extends Record<string, unknown>>(value: T): T {
  const entries = Object.entries(value).map(([name, each]) => {
    if (/^(ledger|actions|contract|block)_hash$/.test(name) && typeof each === 'string') return [name, falseHash(each)];
    return [name, each !== null && typeof each === 'object' && !Array.isArray(each) ? falsify(each as T) : each];
  });
  return Object.fromEntries(entries) as T;
}

const falseHash = (hash: string) => `0bad${hash.slice(4)}`;

function falsifyHeaders(headers: IncomingHttpHeaders): void {
  for (const [name, value] of Object.entries(headers))
    if (/^x-.*-hash$/.test(name) && typeof value === 'string') headers[name] = falseHash(value);
}

async function* falsified(answer: IncomingMessage): AsyncGenerator<Buffer> {
  const text = Buffer.concat(await answer.toArray()).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return yield Buffer.from(text);
  }
  yield Buffer.from(JSON.stringify(falsify({ value } as Record<string, unknown>)['value']));
}

async function* byByte(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of answer) {
    for (const byte of piece as Buffer) {
      yield Buffer.from([byte]);
      if (signal.aborted) return;
      await sleep(STUTTER_MS);
    }
  }
}

/** Rows without an end, or blanks. */
async function* endless(isSnapshot: boolean): AsyncGenerator<Buffer> {
  if (!isSnapshot) for (;;) yield Buffer.alloc(MEBIBYTE, ' ');
  yield gzipSync('{"schema_version":7,"tables":{"blocks":[');
  for (;;) {
    const rows = Array.from({ length: 1_000 }, () => `{"block_index":1,"memo":"${randomBytes(100).toString('hex')}"},`);
    yield gzipSync(rows.join(''), { level: 1 });
  }
}

/** One row, or one value, that a parser makes twenty times as much of. */
async function* oversized(isSnapshot: boolean): AsyncGenerator<Buffer> {
  const open = isSnapshot ? '{"schema_version":7,"tables":{"blocks":[{"a":[' : '{"results":[';
  const pieces = [Buffer.from(open), EMPTY_ROWS, Buffer.from(isSnapshot ? '{}]}]}}' : '{}]}')];
  for (const piece of pieces) yield isSnapshot ? gzipSync(piece, { level: 0 }) : piece;
}

/** Until more may be written to a response, or it is closed. */
async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  settled.abort(); // it takes the listeners of the other wait away
}
