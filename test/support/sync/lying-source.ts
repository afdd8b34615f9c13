import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import WebSocket, { WebSocketServer } from 'ws';
import { atEnd } from '../cleanup.ts';

type Body = Record<string, unknown>;

/**
 * A way to a sync server on which the bodies of some answers are changed; all else passes, subscriptions included.
 *
 * @param lie may take its time
 * @param lacks routes that are answered with 404
 * @param live what comes in place of each message of a subscription; bytes as they are
 * @param answers true for a request that it answers itself
 * @param keepsIdentity it passes the server's signature on, and so claims to be the server; else it is one that signs nothing
 */
export async function startLyingSource(
  url: string,
  lie: (path: string, body: Body) => unknown = (_, body) => body,
  lacks: (path: string) => boolean = () => false,
  live?: (message: Body) => readonly (Body | Buffer)[],
  answers: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
  keepsIdentity = false
): Promise<{ readonly url: string; readonly paths: readonly string[] }> {
  const { hostname, port } = new URL(url);
  const paths: string[] = [];
  const ask = ({ url: path, method, headers }: IncomingMessage) =>
    request({ hostname, port, path, method, headers: { ...headers, 'accept-encoding': 'identity' } });
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? '';
    paths.push(path);
    if (lacks(path)) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    if (answers(incoming, response)) return;
    const outgoing = ask(incoming);
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', async (answer) => {
      const isJson = String(answer.headers['content-type']).startsWith('application/json');
      if (!isJson || answer.headers['content-encoding'])
        return void answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
      const parts: Uint8Array[] = [];
      for await (const part of answer) parts.push(part as Uint8Array);
      const { identity, ...plain } = JSON.parse(Buffer.concat(parts).toString()) as Body;
      const body = await lie(path, { ...plain, ...(keepsIdentity && { identity }) });
      response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    incoming.pipe(outgoing);
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (incoming, socket, head) => {
    if (live)
      return sockets.handleUpgrade(incoming, socket, head, (client) => {
        const { authorization } = incoming.headers;
        const peer = new WebSocket(`ws://${hostname}:${port}${incoming.url}`, {
          headers: authorization ? { authorization } : {}
        });
        peer.on('message', (data: Buffer) => {
          for (const message of live(JSON.parse(data.toString()) as Body))
            client.send(Buffer.isBuffer(message) ? message : JSON.stringify(message), { binary: false });
        });
        peer.on('error', () => client.terminate()).on('close', () => client.close());
        client.on('error', () => peer.terminate()).on('close', () => peer.terminate());
      });
    const peer = connect(Number(port), hostname, () => {
      const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${String(value)}`);
      peer.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      peer.write(head);
      socket.pipe(peer).pipe(socket);
    });
    peer.on('error', () => socket.destroy());
    socket.on('error', () => peer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}
