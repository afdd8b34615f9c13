import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { FollowRefused, follow } from '../../../src/library/follow.ts';

const database = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const status = (resumed?: true) => ({ type: 'status', ...(resumed && { resumed }) });
const block = (block_index: number, branch = 'a') => ({
  type: 'block',
  block_index,
  block_hash: `${branch}${block_index}`
});
const reorg = (block_index: number) => ({ type: 'reorg', block_index });

/** Connections of a server, one after the other: what it sends, and the code with which it ends the connection. */
type Script = { readonly sends: readonly object[]; readonly code?: number };

const http = createServer((request, response) => {
  response.writeHead(request.headers.authorization === 'Bearer right' ? 200 : 401).end('{}');
});
const sockets = new WebSocketServer({ server: http, handleProtocols: () => 'platform-sync.v1' });
let scripts: Script[] = [];
let asked: string[] = [];
let server: string;

before(async () => {
  sockets.on('connection', (socket, request) => {
    asked.push((request.url ?? '').replace('/subscribe/decoder/litecoin/regtest', ''));
    const { sends, code } = scripts.shift() ?? { sends: [] };
    for (const message of sends) socket.send(JSON.stringify(message));
    if (code !== undefined) socket.close(code);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  server = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

after(() => {
  for (const socket of sockets.clients) socket.terminate();
  http.close();
});

beforeEach(() => {
  asked = [];
});

/** Returns what a follower gives out, in short: `missed`, `reorg 5`, `block 5`. */
async function take(count: number, after?: { readonly height: number; readonly hashes: { block_hash: string } }) {
  const ending = new AbortController();
  const taken: string[] = [];
  const options = { server, database, key: 'right', signal: ending.signal, ...(after && { after }) };
  for await (const message of follow(options)) {
    taken.push(message.type === 'missed' ? 'missed' : `${message.type} ${message.block_index}`);
    if (taken.length === count) ending.abort();
  }
  return taken;
}

test('a follower without a block misses what came before; after a cut it goes on behind its last block', async () => {
  scripts = [{ sends: [status(), block(4), block(5)], code: 1001 }, { sends: [status(true), block(6)] }];
  assert.deepEqual(await take(4), ['missed', 'block 4', 'block 5', 'block 6']);
  assert.deepEqual(asked, ['', '?after=5:a5']);
});

test('a gap ends the connection; a reorg is gone back to, and resumed below it', async () => {
  scripts = [
    { sends: [status(true), block(8), block(9), block(11)] },
    { sends: [status(true), block(10), reorg(9)], code: 1001 },
    { sends: [status(true), block(9, 'b')] }
  ];
  const after = { height: 7, hashes: { block_hash: 'a7' } };
  assert.deepEqual(await take(5, after), ['block 8', 'block 9', 'block 10', 'reorg 9', 'block 9']);
  assert.deepEqual(asked, ['?after=7:a7', '?after=9:a9', '?after=8:a8']);
});

test('a server that does not know the block of the follower is asked without it, and the follower misses blocks', async () => {
  scripts = [{ sends: [], code: 4409 }, { sends: [status(), block(30)] }];
  assert.deepEqual(await take(2, { height: 7, hashes: { block_hash: 'x7' } }), ['missed', 'block 30']);
  assert.deepEqual(asked, ['?after=7:x7', '']);
});

test('a refusal is told with its status, and not asked again', async () => {
  const refused = follow({ server, database, key: 'wrong' }).next();
  await assert.rejects(refused, (fault) => fault instanceof FollowRefused && fault.status === 401);
  assert.deepEqual(asked, []);
});
