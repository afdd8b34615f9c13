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
  /** Cuts all connections and makes as many at once that go on behind this block. Answers with the ms until the last one is live. */
  | { readonly type: 'resume'; readonly url: string; readonly key: string; readonly after: string }
  /** Others that read nothing, and their end. */
  | { readonly type: 'stall'; readonly url: string; readonly key: string; readonly count: number }
  | { readonly type: 'leave' }
  /** Answers with what came since the last time: pairs of height and time of receipt. */
  | { readonly type: 'collect' };

const now = () => performance.timeOrigin + performance.now();

/** Beginning of the last message to a subscriber that has resumed: the first status says that it will. */
const STATUS = '{"type":"status"';

/** Many subscribers, in a process of their own, which note when each block reached them. */
class Crowd {
  readonly #heard: number[] = [];
  #stalled: WebSocket[] = [];
  #connected: WebSocket[] = [];

  async connect({ url, key, count }: SubscribersAsk & { type: 'connect' }): Promise<void> {
    const prepare = (socket: WebSocket) =>
      socket.on('message', (data: Buffer) => {
        const height = HEIGHT.exec(data.toString('latin1', 0, HEAD_BYTES))?.[1];
        if (height !== undefined) this.#heard.push(Number(height), now());
      });
    this.#connected.push(...(await open(url, key, count, prepare)));
  }

  async resume({ url, key, after }: SubscribersAsk & { type: 'resume' }): Promise<number> {
    const count = this.#connected.length;
    for (const socket of this.#connected) socket.terminate();
    const began = performance.now();
    const sockets = Array.from({ length: count }, (_, index) =>
      newSocket(`${url}?after=${after}`, key, `127.0.2.${1 + Math.floor(index / OF_AN_ADDRESS)}`)
    );
    await Promise.all(sockets.map(isLive));
    this.#connected = sockets;
    return performance.now() - began;
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
      const socket = newSocket(url, key, `127.0.1.${1 + address}`);
      prepare(socket);
      return socket;
    });
    await Promise.all(opening.map((socket) => once(socket, 'open')));
    sockets.push(...opening);
  }
  return sockets;
}

function newSocket(url: string, key: string, address: string): WebSocket {
  return new WebSocket(url, {
    headers: { authorization: `Bearer ${key}` },
    perMessageDeflate: false,
    localAddress: address
  });
}

/** Waits until a subscriber that resumes has got everything: a second status. @throws {Error} when it is closed before */
function isLive(socket: WebSocket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let statuses = 0;
  socket.on('error', reject);
  socket.on('close', (code) => reject(new Error(`closed with ${code}`)));
  socket.on('message', (data: Buffer) => {
    if (data.toString('latin1', 0, STATUS.length) === STATUS && ++statuses === 2) resolve();
  });
  return promise;
}

const crowd = new Crowd();

process.on('message', async (ask: SubscribersAsk) => {
  switch (ask.type) {
    case 'connect':
      await crowd.connect(ask);
      break;
    case 'resume':
      process.send?.(await crowd.resume(ask));
      return;
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
