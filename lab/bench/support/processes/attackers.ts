import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACKS, type Attack, addressOf } from '../attack/attacks.ts';

/** Connections that are opened at once. */
const CROWD = 50;
const TURN_MS = 50;
const OFFSET_BYTES = 5_000;

export type AttackersAsk =
  /** Answers when all connections are there and have said what they say at once, or the server has ended them. */
  | {
      readonly type: 'begin';
      readonly attack: string;
      readonly port: number;
      readonly count: number;
      readonly etag: string;
    }
  /** Ends all connections. Answers with how many there have been. */
  | { readonly type: 'end' };

/** Hostile clients, in a process of their own. */
class Crowd {
  readonly #sockets = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;
  #made = 0;
  #etag = '';

  async begin(attack: Attack, { port, count, etag }: AttackersAsk & { type: 'begin' }): Promise<void> {
    this.#made = 0;
    this.#etag = etag;
    if (attack.kind === 'return') {
      const each = Math.ceil((count * TURN_MS) / 1_000);
      this.#timer = setInterval(() => {
        if (this.#sockets.size < count) for (let n = 0; n < each; n++) void this.#attack(attack, port);
      }, TURN_MS);
      return;
    }
    while (this.#made < count)
      await Promise.all(Array.from({ length: Math.min(CROWD, count - this.#made) }, () => this.#attack(attack, port)));
    if (attack.more?.how === 'slowly')
      this.#timer = setInterval(() => {
        for (const socket of this.#sockets) if (socket.writable) socket.write(attack.more!.bytes);
      }, 1_000);
  }

  end(): number {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.resetAndDestroy();
    return this.#made;
  }

  #fill(text: string | Buffer, number: number): string | Buffer {
    if (typeof text !== 'string' || !text.includes('{')) return text;
    return text.replace('{etag}', this.#etag).replace('{offset}', String(number * OFFSET_BYTES));
  }

  async #attack(attack: Attack, port: number): Promise<void> {
    const number = ++this.#made;
    const socket = connect({ host: '127.0.0.1', port, localAddress: addressOf(attack), noDelay: true });
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
    if (attack.deaf && !attack.then) socket.pause();
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(5_000) });
      if (attack.first.length > 0) socket.write(this.#fill(attack.first, number));
      if (attack.then) {
        await once(socket, 'data', { signal: AbortSignal.timeout(5_000) });
        if (attack.deaf) socket.pause();
        socket.write(attack.then);
      }
      if (!attack.deaf) socket.resume();
      if (attack.more?.how === 'endlessly') keepSaying(socket, attack.more.bytes);
      if (attack.more?.how === 'piecemeal') void spell(socket, Buffer.from(attack.more.bytes));
    } catch {
      socket.destroy(); // the server was quicker
    }
  }
}

function keepSaying(socket: Socket, bytes: string | Buffer): void {
  let taken = true;
  for (let n = 0; taken && n < 20 && socket.writable; n++) taken = socket.write(bytes);
  if (!socket.writable) return;
  if (taken) setTimeout(() => keepSaying(socket, bytes), 1);
  else socket.once('drain', () => keepSaying(socket, bytes));
}

/** One byte, one segment. */
async function spell(socket: Socket, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    if (!socket.writable) return;
    socket.write(Buffer.of(byte));
    await sleep(1);
  }
}

const crowd = new Crowd();

process.on('message', async (ask: AttackersAsk) => {
  if (ask.type === 'end') return void process.send?.(crowd.end());
  const attack = ATTACKS.find(({ name }) => name === ask.attack);
  if (!attack) throw new Error(`no such attack: ${ask.attack}`);
  await crowd.begin(attack, ask);
  process.send?.(null);
});
