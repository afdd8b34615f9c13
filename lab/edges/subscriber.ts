import { WebSocket } from 'ws';
import { type HeardMessage, SubscriberRecord } from './record.ts';

const RECONNECT_MS = 300;
/** An edge that says nothing for so long is left. */
const SILENCE_MS = 15_000;
/** Close code of a server that does not know the block which was named. */
const TAKE_A_SNAPSHOT = 4409;

/** A subscriber that goes on at the next edge, after its last block, whenever its connection ends. */
export class EdgeSubscriber {
  readonly record: SubscriberRecord;
  readonly #urls: readonly string[];
  readonly #key: string;
  #at: number;
  #socket: WebSocket | null = null;
  #isEnded = false;

  /** @param urls subscriptions at all edges; it begins with the one at `first` */
  constructor(name: string, urls: readonly string[], first: number, key: string) {
    this.record = new SubscriberRecord(name);
    this.#urls = urls;
    this.#at = first;
    this.#key = key;
    this.#connect();
  }

  end(): void {
    this.#isEnded = true;
    this.#socket?.terminate();
  }

  #connect(): void {
    if (this.#isEnded) return;
    const { position } = this.record;
    const after = position ? `?after=${position.height}:${position.hash}` : '';
    const url = `${this.#urls[this.#at % this.#urls.length]}${after}`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${this.#key}` } });
    this.#socket = socket;
    const silence = setInterval(() => {
      if (performance.now() - heardAt > SILENCE_MS) socket.terminate();
    }, 1_000);
    let heardAt = performance.now();
    const hears = () => {
      heardAt = performance.now();
    };
    socket.on('ping', hears);
    socket.on('message', (data: Buffer) => {
      hears();
      this.record.take(JSON.parse(data.toString('utf8')) as HeardMessage);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      clearInterval(silence);
      if (code === TAKE_A_SNAPSHOT) this.record.leave();
      this.#at += 1;
      setTimeout(() => this.#connect(), RECONNECT_MS).unref();
    });
  }
}
