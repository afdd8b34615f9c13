import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { INDEXER, INDEXER_HASHES, openFrontDoor } from '../../../../test/support/sync/front-door.ts';

const MEBIBYTE = 2 ** 20;

export type IngressAsk =
  | { readonly type: 'listen' }
  /** Sends blocks and answers with CPU seconds and when each was handed over; `plain`: with `ws.send` alone. */
  | {
      readonly type: 'send';
      readonly how: 'fanOut' | 'plain';
      readonly first: number;
      readonly count: number;
      readonly bytes: number;
      readonly everyMs: number;
    }
  /** Fills the last so many sockets, which do not read, until they take no more; answers with how many are stalled. */
  | { readonly type: 'stuff'; readonly last: number }
  /** Subscribers that there are. */
  | { readonly type: 'count' };

export interface Sent {
  readonly cpuSeconds: number;
  /** Pairs of height and time. */
  readonly times: Float64Array;
}

const now = () => performance.timeOrigin + performance.now();

/** The real ingress with its fan-out, in a process of its own, so that its CPU time can be told. */
const frontDoor = await openFrontDoor({
  config: { WS_MAX_PER_IP: 100_000, WS_BACKPRESSURE_STALL_MS: 600_000, WS_BACKPRESSURE_MAX_BYTES: 256 * MEBIBYTE }
});
const sockets: WebSocket[] = [];
const subscribe = frontDoor.fanOut.subscribe.bind(frontDoor.fanOut);
frontDoor.fanOut.subscribe = (id, socket, options) => {
  sockets.push(socket);
  socket.once('close', () => sockets.splice(sockets.indexOf(socket), 1));
  subscribe(id, socket, options);
};

function block(height: number, bytes: number): Buffer {
  const head = JSON.stringify({ type: 'block', block_index: height, pad: '' });
  return Buffer.from(JSON.stringify({ type: 'block', block_index: height, pad: 'x'.repeat(bytes - head.length) }));
}

async function send({ how, first, count, bytes, everyMs }: IngressAsk & { type: 'send' }): Promise<Sent> {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let height = first; height < first + count; height++) {
    const message = block(height, bytes);
    const began = performance.now();
    times.push(height, now());
    if (how === 'plain') for (const socket of sockets) socket.send(message, { binary: false });
    else {
      const infraBytes = message;
      await frontDoor.fanOut.broadcast(INDEXER, [{ type: 'block', height, bytes: message, infraBytes }], {
        height,
        blockTime: 1,
        hashes: INDEXER_HASHES
      });
    }
    await sleep(Math.max(1, everyMs - (performance.now() - began)));
  }
  const { user, system } = process.cpuUsage(before);
  return { cpuSeconds: (user + system) / 1e6, times: Float64Array.from(times) };
}

/** @returns how many still have something to send */
async function stuff(last: number): Promise<number> {
  const filler = Buffer.alloc(MEBIBYTE / 4, 'x');
  const stalled = sockets.slice(-last);
  for (const socket of stalled) {
    for (let sent = 0; socket.bufferedAmount < MEBIBYTE && sent < 64; sent++) {
      socket.send(filler, { binary: false });
      await sleep(0);
    }
  }
  return stalled.filter(({ bufferedAmount }) => bufferedAmount > 0).length;
}

process.on('message', async (ask: IngressAsk) => {
  switch (ask.type) {
    case 'listen':
      await frontDoor.app.listen({ host: '127.0.0.1', port: 0 });
      process.send?.((frontDoor.app.server.address() as { port: number }).port);
      break;
    case 'send':
      process.send?.(await send(ask));
      break;
    case 'stuff':
      process.send?.(await stuff(ask.last));
      break;
    case 'count':
      process.send?.(frontDoor.fanOut.subscribers(INDEXER).length);
  }
});
