import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ServerMessage, WireRows } from '../../../src/wire/data/messages.ts';
import type { TypedTable } from '../../../src/wire/data/schema.ts';
import { atEnd } from '../cleanup.ts';

/** Answers of a source, which a test may change at any time. */
export interface Told {
  typed: readonly TypedTable[];
  /** Null: as a server that says nothing of it. */
  fingerprint: string | null;
  height: number;
  /** Null: its snapshots do not name their block. */
  blockHash: string | null;
  /** Content of its status; absent: it has none. */
  status?: { readonly block_height: number; readonly block_hash: string };
  tables: WireRows;
}

/** A sync server that says what a test tells it to, true or not: schema, full snapshot and live stream; no digests. */
export async function startToldSource(
  announced: Told
): Promise<{ readonly url: string; say(message: ServerMessage): void }> {
  const server = createServer((request, response) => {
    const [, route] = request.url?.split(/[/?]/) ?? [];
    const { typed, fingerprint, height, blockHash, tables, status } = announced;
    if (route === 'status' && status) return void response.end(JSON.stringify(status));
    if (route === 'schema')
      return void response.end(
        JSON.stringify({
          chain: 'litecoin',
          network: 'regtest',
          dbType: 'decoder',
          tables: {},
          typed,
          fingerprint: fingerprint ?? undefined
        })
      );
    if (route !== 'snapshot') return void response.writeHead(404).end('{"error":"not told"}');
    const body = gzipSync(JSON.stringify({ schema_version: 3, block_height: height, tables }));
    const headers = {
      'x-block-height': height,
      ...(blockHash !== null && { 'x-block-hash': blockHash }),
      ...(fingerprint && { 'x-schema-fingerprint': fingerprint })
    };
    response.writeHead(200, { ...headers, 'content-encoding': 'gzip', 'content-length': body.length }).end(body);
  });
  const subscribers = new Set<WebSocket>();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => subscribers.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    for (const socket of subscribers) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    say(message) {
      for (const socket of subscribers) socket.send(JSON.stringify(message));
    }
  };
}
