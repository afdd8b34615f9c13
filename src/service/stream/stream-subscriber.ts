import type { WebSocket } from 'ws';
import type { SendBuffer } from './send-buffer.ts';

/** Limits at which a subscriber that does not read is cut off. */
export interface StreamLimits {
  /** Sends in a row that may find its send buffer not empty. */
  readonly sends: number;
  /** Bytes that may wait in its send buffer. */
  readonly bytes: number;
}

const POLICY_VIOLATION = 1008;
/** Frames of any kind that a client may send in each window: it has hardly anything to say. More end the connection. */
const MAX_FRAMES = 200;
const WINDOW_MS = 10_000;
const BACKPRESSURE = 'Backpressure';

/** One subscription of a stream, which is given up when it does not read. */
export class StreamSubscriber {
  readonly socket: WebSocket;
  readonly address: string;
  readonly #sendBuffer: () => SendBuffer;
  readonly #limits: StreamLimits;
  #isLive = false;
  #answered = true;
  #busySends = 0;
  #frames = 0;
  #since = Number.NEGATIVE_INFINITY;

  constructor(socket: WebSocket, address: string, sendBuffer: () => SendBuffer, limits: StreamLimits) {
    this.socket = socket;
    this.address = address;
    this.#sendBuffer = sendBuffer;
    this.#limits = limits;
    socket.on('pong', () => (this.#answered = true));
    for (const frame of ['message', 'ping', 'pong']) socket.on(frame, () => this.#hear());
  }

  /** Whether it has what it resumed from, and gets each row from now on. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Whether it has not taken all that it was sent. */
  get isBusy(): boolean {
    return this.socket.readyState === this.socket.OPEN && this.#sendBuffer().waitingBytes > 0;
  }

  begin(): void {
    this.#isLive = true;
  }

  /** Sends a message, or gives the connection up by one of its limits. */
  send(message: string | Buffer): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    const { waitingBytes } = this.#sendBuffer();
    this.#busySends = waitingBytes === 0 ? 0 : this.#busySends + 1;
    if (this.#busySends > this.#limits.sends || waitingBytes > this.#limits.bytes) this.drop(BACKPRESSURE);
    else this.socket.send(message, { binary: false });
  }

  /** Ends a connection that did not answer the last ping. */
  ping(): void {
    if (this.#answered) this.socket.ping();
    else this.socket.terminate();
    this.#answered = false;
  }

  #hear(): void {
    const now = performance.now();
    if (now - this.#since > WINDOW_MS) [this.#frames, this.#since] = [0, now];
    if (++this.#frames > MAX_FRAMES) this.socket.terminate();
  }

  /** Gives it up: it gets nothing more. @param reason of the close frame */
  drop(reason: string): void {
    this.socket.close(POLICY_VIOLATION, reason);
  }
}
