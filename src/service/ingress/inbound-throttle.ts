import type { Socket } from 'node:net';

/** Nearly every request comes in one. */
const SLICE_BYTES = 2_048;
/** Bytes that may arrive while nothing is taken: a request or two. */
const MOST_AHEAD_BYTES = 16_384;
/**
 * Time that further slices of all connections may take in one turn of the event loop; it bounds the effect of many hostile
 * connections.
 */
const TURN_MS = 5;

/** Connections that have more to hand over, each once, in the order in which they asked. */
class Queue {
  readonly #waiting = new Set<() => void>();
  #isDue = false;

  add(take: () => void): void {
    this.#waiting.add(take);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#turn());
  }

  /** Sockets that ask during a turn wait for the next one. */
  #turn(): void {
    this.#isDue = false;
    const began = performance.now();
    for (const take of [...this.#waiting]) {
      this.#waiting.delete(take);
      take();
      if (performance.now() - began > TURN_MS) break;
    }
    const [next] = this.#waiting;
    if (next) this.add(next);
  }
}

const queue = new Queue();

/**
 * Hands over what a connection sends in small slices: one at once, further ones in turns of the event loop that all connections
 * share, and none after it is destroyed. A socket is read 64 KiB at a time, which a parser would finish before anybody else has a
 * turn: ten thousand chunks of a body, or frames. Less than 128 KiB are read and not handed over.
 */
export class InboundThrottle {
  readonly #socket: Socket;
  readonly #onFlood: () => void;
  #isPaused = false;
  #isHeld = false;
  #isQueued = false;

  /**
   * @param socket  its `pause()` and `resume()` are replaced; use them as usual
   * @param onFlood  called when a held connection sends more than it may
   */
  constructor(socket: Socket, onFlood: () => void) {
    this.#socket = socket;
    this.#onFlood = onFlood;
    Object.assign(socket, {
      isPaused: () => this.#isPaused,
      pause: () => {
        this.#isPaused = true;
        return socket;
      },
      resume: () => {
        if (this.#isPaused) this.#later();
        this.#isPaused = false;
        return socket;
      }
    });
    socket.on('readable', () => {
      if (!this.#isQueued) this.#take(false);
    });
  }

  /** Holds the connection: from now on nothing is handed over but that it has ended. */
  hold(): void {
    this.#isHeld = true;
    this.#bound();
  }

  release(): void {
    if (this.#isHeld && this.#socket.readableLength > 0) this.#later();
    this.#isHeld = false;
  }

  /** Takes the rest in a later turn; the parser itself may ask for more. */
  #later(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    queue.add(() => this.#take(true));
  }

  /** @param hasWaited  the connection's end may follow the data that is taken; it is then emitted one turn later */
  #take(hasWaited: boolean): void {
    this.#isQueued = false;
    const waiting = this.#socket.readableLength;
    if (this.#socket.destroyed) return;
    if (this.#isHeld && waiting > 0) this.#bound();
    else if (!this.#isPaused) {
      this.#socket.read(Math.min(SLICE_BYTES, waiting)); // of 0 bytes: tells the end, if it has come
      if (waiting > (hasWaited ? 0 : SLICE_BYTES)) this.#later();
    }
  }

  #bound(): void {
    if (this.#socket.readableLength > MOST_AHEAD_BYTES) this.#onFlood();
  }
}
