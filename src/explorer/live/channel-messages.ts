import { ChannelFault } from './channels.ts';

/** Limits on the messages of a client, as clients in use know them. */
export const MESSAGE_LIMITS = { perS: 10, bytes: 1_024 } as const;
/** Frames of any kind in each window; more end the connection. */
const MAX_FRAMES = 100;
const WINDOW_MS = 10_000;

/** Counts what a client sends. */
export class MessageMeter {
  #second = 0;
  #messages = 0;
  #since = Number.NEGATIVE_INFINITY;
  #frames = 0;

  /**
   * Counts one frame more.
   *
   * @returns what becomes of it; `refused` is told, once a second, and what comes after it in that second is `passedOver`. With `cut`
   * the client is told to go, with `ended` it did not listen
   */
  count(kind: 'message' | 'control'): 'taken' | 'refused' | 'passedOver' | 'cut' | 'ended' {
    const now = performance.now();
    if (now - this.#since > WINDOW_MS) [this.#frames, this.#since] = [0, now];
    this.#frames++;
    if (this.#frames > 2 * MAX_FRAMES) return 'ended';
    if (this.#frames > MAX_FRAMES) return 'cut';
    if (kind === 'control') return 'passedOver';
    const second = Math.floor(now / 1_000);
    this.#messages = this.#second === second ? this.#messages + 1 : 1;
    this.#second = second;
    if (this.#messages <= MESSAGE_LIMITS.perS) return 'taken';
    return this.#messages === MESSAGE_LIMITS.perS + 1 ? 'refused' : 'passedOver';
  }
}

/** Names the reason of a cut. */
export const FLOODED = `more than ${MAX_FRAMES} messages in ${WINDOW_MS / 1_000} s`;

/** Reads a message of a client. @throws {ChannelFault} INVALID_PARAMS, INVALID_ACTION */
export function readMessage(data: Buffer): Readonly<Record<string, unknown>> {
  if (data.length > MESSAGE_LIMITS.bytes)
    throw new ChannelFault('INVALID_PARAMS', `a message has at most ${MESSAGE_LIMITS.bytes} bytes`);
  try {
    const message: unknown = JSON.parse(String(data));
    if (typeof message === 'object' && message !== null && !Array.isArray(message))
      return message as Readonly<Record<string, unknown>>;
  } catch {
    // It is told below.
  }
  throw new ChannelFault('INVALID_ACTION', 'a message is a JSON object with an action');
}
