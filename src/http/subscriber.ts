import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { type ActorRefFrom, createActor } from 'xstate';
import { type SubscriberInput, subscriberMachine } from '../../machines/subscriber.ts';

/** What `/status` shows of one subscriber; no address. */
export interface SubscriberView {
  readonly id: string;
  readonly lastSentBlock: number | null;
  readonly appliedBlock: number | null;
  readonly lag: number | null;
}

/** Policy violation: the reason says which. */
const POLICY_CLOSE = 1008;

/** One connection to `/subscribe`: what was sent to it, what it says it applied, and whether it drains. */
export class Subscriber {
  readonly id = randomBytes(6).toString('hex');
  readonly socket: WebSocket;
  readonly infraOnly: boolean;
  readonly address: string;
  #lastSent: number | null;
  #applied: number | null = null;
  #buffered = 0;
  #answered = true;
  readonly #flow: ActorRefFrom<typeof subscriberMachine>;
  readonly #onDrop: (reason: string) => void;

  /** @param onDrop called once with the text of the log line and closing reason */
  constructor(
    socket: WebSocket,
    options: {
      readonly infraOnly: boolean;
      readonly address: string;
      readonly height: number | null;
      readonly limits: SubscriberInput;
      readonly onDrop: (reason: string) => void;
    }
  ) {
    this.socket = socket;
    this.infraOnly = options.infraOnly;
    this.address = options.address;
    this.#lastSent = options.height;
    this.#onDrop = options.onDrop;
    this.#flow = createActor(subscriberMachine, { input: options.limits }).start();
    socket.on('pong', () => {
      this.#answered = true;
    });
    socket.on('message', (data, isBinary) => {
      this.#answered = true;
      if (!isBinary) this.#hear(String(data));
    });
  }

  get view(): SubscriberView {
    const lag = this.#applied === null || this.#lastSent === null ? null : Math.max(0, this.#lastSent - this.#applied);
    return { id: this.id, lastSentBlock: this.#lastSent, appliedBlock: this.#applied, lag };
  }

  /** @param height the last block that the subscriber has been sent with this message; undefined when it is about none */
  send(message: string | Buffer, height?: number): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(message, { binary: false });
    if (height !== undefined) this.#lastSent = height;
    this.measure();
  }

  /** Looks at the send buffer and drops the connection by the backpressure policy. */
  measure(): void {
    const before = this.#buffered;
    this.#buffered = this.socket.bufferedAmount;
    if ((before === 0 && this.#buffered === 0) || this.#flow.getSnapshot().status !== 'active') return;
    this.#flow.send({ type: 'buffer.measured', bufferedBytes: this.#buffered, at: performance.now() });
    const { status, context } = this.#flow.getSnapshot();
    if (status === 'active' || context.reason === null) return;
    this.#onDrop(context.reason);
    this.socket.close(POLICY_CLOSE, context.reason);
  }

  /** Terminates a connection that did not answer the last ping; one whose buffer is not empty is the policy's to judge. */
  ping(): void {
    if (this.#buffered > 0) return;
    if (this.#answered) this.socket.ping();
    else this.socket.terminate();
    this.#answered = false;
  }

  #hear(text: string): void {
    const message = parseObject(text);
    const { type, appliedBlock } = message;
    if (type === 'heartbeat' && Number.isSafeInteger(appliedBlock) && Number(appliedBlock) >= 0)
      this.#applied = Number(appliedBlock);
  }
}

/** What is no JSON object is heard as an empty one: a malformed message gets no answer. */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
