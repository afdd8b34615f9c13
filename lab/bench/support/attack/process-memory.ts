import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { eventually } from '../../../../test/support/sync/sync-process.ts';

const LISTENING = /Debugger listening on (ws:\/\/\S+)/;
const PATIENCE_MS = 10_000;

/** Memory of a process after a garbage collection. */
export interface Held {
  /** V8's heap and what its objects hold outside of it. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly descriptors: number;
}

/** Connections of an address to a port that the port's process has open. */
export function connectionsOf(address: string, port: number): number {
  const inHex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0');
  const there = address
    .split('.')
    .map((part) => inHex(Number(part), 2))
    .reverse()
    .join('');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.filter((line) => {
    const [, local = '', remote = '', , , , , , , inode = '0'] = line.trim().split(/\s+/);
    return local.endsWith(`:${inHex(port, 4)}`) && remote.startsWith(there) && inode !== '0';
  }).length;
}

/** Another process of Node, asked by way of its inspector; it was started with `--inspect-port=127.0.0.1:0`. */
export class ProcessMemory {
  readonly #pid: number;
  readonly #socket: WebSocket;
  #id = 0;

  static async open(pid: number, log: () => string): Promise<ProcessMemory> {
    process.kill(pid, 'SIGUSR1');
    await eventually('the inspector listens', PATIENCE_MS, async () => LISTENING.test(log()));
    const socket = new WebSocket(LISTENING.exec(log())![1]!, { perMessageDeflate: false });
    await once(socket, 'open');
    return new ProcessMemory(pid, socket);
  }

  private constructor(pid: number, socket: WebSocket) {
    this.#pid = pid;
    this.#socket = socket;
  }

  async read(): Promise<Held> {
    for (let n = 0; n < 2; n++) await this.#call('HeapProfiler.collectGarbage', {});
    const expression = 'JSON.stringify(process.memoryUsage())';
    const { result } = await this.#call<{ result: { value: string } }>('Runtime.evaluate', { expression });
    const { heapUsed, external } = JSON.parse(result.value) as NodeJS.MemoryUsage;
    const [, rssKb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8')) ?? [];
    return { heapBytes: heapUsed + external, rssBytes: Number(rssKb) * 1024, descriptors: this.descriptors };
  }

  get descriptors(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length;
  }

  close(): void {
    this.#socket.terminate();
  }

  async #call<T>(method: string, params: object): Promise<T> {
    const id = ++this.#id;
    const { promise, resolve } = Promise.withResolvers<T>();
    const hear = (data: Buffer) => {
      const answer = JSON.parse(data.toString('utf8')) as { id?: number; result: T };
      if (answer.id === id) resolve(answer.result);
    };
    this.#socket.on('message', hear);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise.finally(() => this.#socket.off('message', hear));
  }
}
