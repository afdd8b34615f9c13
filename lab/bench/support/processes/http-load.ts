import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Load: address, request, connections, and number of requests in all. */
export interface HttpLoadAsk {
  readonly type: 'load';
  readonly port: number;
  /** The whole requests as they go over the wire, with keep-alive; they are sent in turns. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly count: number;
  /** Status that each answer must have; default: 200. */
  readonly status?: 200 | 304;
}

/** Milliseconds of all requests together, and of each. */
export interface HttpLoad {
  readonly wallMs: number;
  readonly eachMs: Float64Array;
}

const HEAD_END = '\r\n\r\n';

/** One connection. It counts bytes instead of reading them: the server is what is measured. */
class Asker {
  readonly #socket: Socket;
  #head = '';
  /** Bytes of the body that are left; -1: its head is not read yet. */
  #left = -1;
  #answered: () => void = () => undefined;
  readonly #status: number;

  /** @param localAddress of its own: a server bounds what one address may cost */
  constructor(port: number, localAddress: string, status: number) {
    this.#status = status;
    this.#socket = connect({ port, host: '127.0.0.1', localAddress }).setNoDelay();
    this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  async open(): Promise<void> {
    await once(this.#socket, 'connect');
  }

  ask(request: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answered = resolve;
    this.#socket.write(request);
    return promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#left >= 0) this.#left -= bytes.length;
    else {
      this.#head += bytes.toString('latin1');
      const end = this.#head.indexOf(HEAD_END);
      if (end < 0) return;
      this.#left = lengthIn(this.#head.slice(0, end), this.#status) - (this.#head.length - end - HEAD_END.length);
    }
    if (this.#left !== 0) return;
    this.#head = '';
    this.#left = -1;
    this.#answered();
  }
}

function lengthIn(head: string, status: number): number {
  const length = status === 304 ? 0 : /^content-length: *(\d+)/im.exec(head)?.[1];
  if (!head.startsWith(`HTTP/1.1 ${status}`) || length === undefined)
    throw new Error(`answered: ${head.slice(0, 300)}`);
  return Number(length);
}

let opened = 0;

/** An address of the loopback, each time another one. */
function nextAddress(): string {
  opened++;
  return `127.1.${(opened >> 8) & 255}.${opened & 255}`;
}

// A process of its own, so that its work is not that of what it measures.
process.on('message', async ({ port, requests, connections, count, status = 200 }: HttpLoadAsk) => {
  const askers = Array.from({ length: connections }, () => new Asker(port, nextAddress(), status));
  await Promise.all(askers.map((asker) => asker.open()));
  let next = 0;
  const each: number[] = [];
  const work = async (asker: Asker) => {
    while (next < count) {
      const began = performance.now();
      await asker.ask(requests[next++ % requests.length]!);
      each.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(askers.map(work));
  const wallMs = performance.now() - began;
  for (const asker of askers) asker.close();
  process.send?.({ wallMs, eachMs: Float64Array.from(each) } satisfies HttpLoad);
});
