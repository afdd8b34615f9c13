// Follows one database of a sync server: its status, one whole snapshot, then each new block without a gap.
// Run: SYNC_API_KEY=... scripts/run-node docs/examples/follow.ts http://127.0.0.1:3006 indexer/bitcoin/mainnet
import { on } from 'node:events';
import { arrayBuffer } from 'node:stream/consumers';
import WebSocket from 'ws';

const [server = 'http://127.0.0.1:3006', database = 'indexer/bitcoin/mainnet'] = process.argv.slice(2);
const headers = { authorization: `Bearer ${process.env['SYNC_API_KEY'] ?? ''}` };

async function get(path: string): Promise<Response> {
  const response = await fetch(`${server}${path}`, { headers, redirect: 'error' });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

const status = (await (await get(`/status/${database}`)).json()) as { readonly block_height: number };
console.log(`status: block ${status.block_height}`);

// Subscribe before the download: blocks that arrive meanwhile wait in `messages`.
const socket = new WebSocket(`${server.replace(/^http/, 'ws')}/subscribe/${database}`, { headers });
const messages = on(socket, 'message', { close: ['close'] });

const snapshot = await get(`/snapshot/${database}`); // fetch unpacks the gzip
let height = Number(snapshot.headers.get('x-block-height'));
const { byteLength } = await arrayBuffer(snapshot.body!); // a real client writes the rows as they come
console.log(`snapshot: ${byteLength} bytes of JSON at block ${height}`);

for await (const [data] of messages) {
  const message = JSON.parse(String(data)) as { readonly type: string; readonly block_index: number };
  // A reorg names the first orphaned height; the new branch follows from there.
  if (message.type === 'reorg') height = Math.min(height, message.block_index - 1);
  if (message.type !== 'block' || message.block_index <= height) continue;
  if (message.block_index !== height + 1) throw new Error(`gap: block ${message.block_index} came after ${height}`);
  height = message.block_index;
  console.log(`block ${height}`);
}
throw new Error('the server closed the stream: subscribe again and ask for what is missing with /snapshot/.../since');
