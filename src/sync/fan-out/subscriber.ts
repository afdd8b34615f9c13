import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { type ActorRefFrom, createActor } from 'xstate';
import {
  type NearLimit,
  nearLimit,
  type SubscriberInput,
  subscriberMachine
} from '../../../machines/sync/subscriber.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { type AuthMessage, AuthMessageSchema, HeartbeatMessageSchema } from '../../wire/validator.ts';

/** Fields of one subscriber in `/status`; without its address. */
export interface SubscriberView {
  readonly id: string;
  readonly lastSentBlock: number | null;
  readonly appliedBlock: number | null;
  readonly lag: number | null;
  /** State of its machine: `stalled` while the network takes nothing of its buffer. */
  readonly state: 'draining' | 'stalled' | 'dropped';
  /** Bytes handed to its socket and not taken by the network yet. */
  readonly bufferedBytes: number;
  /** The limit of the backpressure policy that it is near; absent when it is near none. */
  readonly nearLimit?: NearLimit;
}

export interface SubscriberOptions {
  readonly infraOnly: boolean;
  /** Whether it takes amendments. Default false. */
  readonly amends?: boolean;
  /** The last block broadcast when it came. */
  readonly height: number | null;
  readonly limits: SubscriberInput;
  readonly sendBuffer: () => SendBuffer;
  /** Called once, when it sends too much. */
  readonly onFlood: () => void;
  /** Called once, before the connection is closed, with the text of the log line and closing reason. */
  readonly onDrop: (reason: string) => void;
  readonly onHeartbeat: (appliedBlock: number) => void;
  /** @returns true when the message proves the subscriber's key */
  readonly onAuth: (message: AuthMessage) => boolean;
}

/** Policy violation; the close reason names it. */
const POLICY_CLOSE = 1008;
/** Time after connecting in which a subscriber may authenticate; the next constant is the number of attempts. */
const AUTH_WINDOW_MS = 5_000;
const MAX_AUTH_ATTEMPTS = 10;
/** Bytes in the send buffer, at which a subscriber that comes back gets nothing more until they were taken. */
const MAX_AHEAD_BYTES = 2 ** 20;
/** Frames of any kind that a client may send in each window; one that heartbeats every ten blocks stays far below. */
const MAX_FRAMES = 1_000;
const FRAME_WINDOW_MS = 10_000;

const isHeartbeat = shapeOf(HeartbeatMessageSchema);
const isAuth = shapeOf(AuthMessageSchema);

/** One connection to `/subscribe`: its sent bytes, its heartbeats, and whether it drains. */
export class Subscriber {
  readonly id = randomBytes(6).toString('hex');
  readonly socket: WebSocket;
  readonly infraOnly: boolean;
  readonly amends: boolean;
  readonly #options: SubscriberOptions;
  readonly #connectedAt = performance.now();
  readonly #flow: ActorRefFrom<typeof subscriberMachine>;
  #lastSent: number | null;
  #applied: number | null = null;
  #waiting = 0;
  #answered = true;
  #authAttempts = 0;
  #isProven = false;
  #frames = 0;
  #framesSince = 0;

  constructor(socket: WebSocket, options: SubscriberOptions) {
    this.socket = socket;
    this.infraOnly = options.infraOnly;
    this.amends = options.amends ?? false;
    this.#options = options;
    this.#lastSent = options.height;
    this.#flow = createActor(subscriberMachine, { input: options.limits }).start();
    socket.on('ping', () => this.#heard());
    socket.on('pong', () => this.#heard());
    socket.on('message', (data, isBinary) => {
      this.#heard();
      if (!isBinary && this.#frames <= MAX_FRAMES) this.#hear(parse(String(data)));
    });
  }

  /** Whether it has proven a key. */
  get isProven(): boolean {
    return this.#isProven;
  }

  get view(): SubscriberView {
    const lag = this.#applied === null || this.#lastSent === null ? null : Math.max(0, this.#lastSent - this.#applied);
    const { value, context } = this.#flow.getSnapshot();
    const near = nearLimit(context, performance.now());
    return {
      id: this.id,
      lastSentBlock: this.#lastSent,
      appliedBlock: this.#applied,
      lag,
      state: value,
      bufferedBytes: this.#options.sendBuffer().waitingBytes,
      ...(near ? { nearLimit: near } : {})
    };
  }

  /**
   * @param height the last block that the subscriber has been sent with this message; undefined when it is about none
   * @param onTaken called when the network has taken it, or the connection is gone
   */
  send(message: string | Buffer, height?: number, onTaken?: () => void): void {
    if (this.socket.readyState !== this.socket.OPEN) {
      onTaken?.();
      return;
    }
    this.socket.send(message, { binary: false }, onTaken);
    if (height !== undefined) this.#lastSent = height;
    this.measure();
  }

  /** Sends a message; while much waits in the buffer, it returns when the network has taken it, or the connection is gone. */
  async sendWhenFree(message: Buffer, height?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.send(message, height, resolve);
    if (this.#waiting >= MAX_AHEAD_BYTES) await promise;
  }

  /** Looks at the send buffer and drops the connection by the backpressure policy. */
  measure(): void {
    const before = this.#waiting;
    const buffer = this.#options.sendBuffer();
    this.#waiting = buffer.waitingBytes;
    if ((before === 0 && this.#waiting === 0) || this.#flow.getSnapshot().status !== 'active') return;
    this.#flow.send({ type: 'buffer.measured', ...buffer, at: performance.now() });
    const { status, context } = this.#flow.getSnapshot();
    if (status !== 'active' && context.reason !== null) this.drop(context.reason);
  }

  /** Terminates a connection that did not answer the last ping; one with a non-empty buffer is left to the stall policy. */
  ping(): void {
    if (this.#waiting > 0) return;
    if (this.#answered) this.socket.ping();
    else this.socket.terminate();
    this.#answered = false;
  }

  /** Gives it up: it gets nothing more. */
  drop(reason: string): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.#options.onDrop(reason);
    this.socket.close(POLICY_CLOSE, reason);
  }

  /** Notes a frame as a sign of life; too many are an attack on the process's time. */
  #heard(): void {
    this.#answered = true;
    const now = performance.now();
    if (now - this.#framesSince > FRAME_WINDOW_MS) [this.#frames, this.#framesSince] = [0, now];
    this.#frames += 1;
    if (this.#frames === MAX_FRAMES + 1) {
      this.#options.onFlood();
      this.drop(`more than ${MAX_FRAMES} messages in ${FRAME_WINDOW_MS / 1000} s`);
    }
    if (this.#frames === 2 * MAX_FRAMES) this.socket.terminate(); // it does not listen
  }

  /** Takes a subscriber's message. Only heartbeats and proofs of identity get an answer. */
  #hear(message: unknown): void {
    if (isHeartbeat.Check(message)) {
      this.#applied = message.appliedBlock;
      this.#options.onHeartbeat(message.appliedBlock);
    } else if (isAuth.Check(message) && this.#mayAuth()) {
      this.#authAttempts += 1;
      if (!this.#options.onAuth(message)) return;
      this.#authAttempts = MAX_AUTH_ATTEMPTS;
      this.#isProven = true;
    }
  }

  #mayAuth(): boolean {
    return this.#authAttempts < MAX_AUTH_ATTEMPTS && performance.now() - this.#connectedAt <= AUTH_WINDOW_MS;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
