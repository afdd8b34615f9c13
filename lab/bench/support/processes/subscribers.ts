import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Connections that are opened at once. */
const CROWD = 100;
/** Connections of one address: a thousand that come at once from one would have to wait for each other. */
const OF_AN_ADDRESS = 50;
/** A block's height, or the number of the action of a hub's price. */
const HEIGHT = /"(?:block|action)_index":(\d+)/;
const HEAD_BYTES = 600;

export type SubscribersAsk =
  | {
      readonly type: 'connect';
      readonly url: string;
      readonly key: string;
      readonly count: number;
    }
  /** Others that read nothing, and their end. */
  | { readonly type: 'stall'; readonly url: string; readonly key: string; readonly count: number }
  | { readonly type: 'leave' }
  /** Answers with what came since the last time: pairs of height and time of receipt. */
  | { readonly type: 'collect' };

const now = () => performance.timeOrigin + performance.now();

/** Many subscribers, in a process of their own, which note when each block reached them. */
class Crowd {
  readonly #heard: number[] = [];
  #stalled: WebSocket[] = [];

  async connect({ url, key, count }: SubscribersAsk & { type: 'connect' }): Promise<void> {
    const prepare = (socket: WebSocket) =>
      socket.on('message', (data: Buffer) => {
        const height = HEIGHT.exec(data.toString('latin1', 0, HEAD_BYTES))?.[1];
        if (height !== undefined) this.#heard.push(Number(height), now());
      });
    await open(url, key, count, prepare);
  }

  /** They read nothing from the start, so that the kernel gives them no more room than it has to. */
  async stall({ url, key, count }: SubscribersAsk & { type: 'stall' }): Promise<void> {
    this.#stalled = await open(url, key, count, (socket) => socket.once('open', () => socket.pause()));
  }

  leave(): void {
    for (const socket of this.#stalled) socket.terminate();
  }

  collect(): Float64Array {
    return Float64Array.from(this.#heard.splice(0));
  }
}

async function open(url: string, key: string, count: number, prepare: (socket: WebSocket) => void) {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const opening = Array.from({ length: Math.min(CROWD, count - sockets.length) }, (_, index) => {
      const address = Math.floor((sockets.length + index) / OF_AN_ADDRESS);
      const socket = new WebSocket(url, {
        headers: { authorization: `Bearer ${key}` },
        perMessageDeflate: false,
        localAddress: `127.0.1.${1 + address}`
      });
      prepare(socket);
      return socket;
    });
    await Promise.all(opening.map((socket) => once(socket, 'open')));
    sockets.push(...opening);
  }
  return sockets;
}

const crowd = new Crowd();

process.on('message', async (ask: SubscribersAsk) => {
  switch (ask.type) {
    case 'connect':
      await crowd.connect(ask);
      break;
    case 'stall':
      await crowd.stall(ask);
      break;
    case 'leave':
      crowd.leave();
      break;
    case 'collect':
      process.send?.(crowd.collect());
      return;
  }
  process.send?.(null);
});
