/** Costs on one core of the bench machine, each from the bench that its row in docs/performance.md names. */
export const MEASURED = {
  /** CPU of one message to one subscriber, in microseconds, for `sendBytes`: `live`. */
  sendUs: 14.1,
  sendBytes: 20_000,
  /** CPU of a subscriber that connects with `after`, in microseconds, without the messages that it missed: `edge`. */
  connectUs: 590,
  /** Memory of an idle subscriber, in bytes: `edge`. */
  subscriberBytes: 27 * 2 ** 10,
  /** Memory of an edge without subscribers, in bytes: `edge`. */
  edgeBytes: 162 * 2 ** 20,
  /** Time of one short answer of a sync server, in milliseconds: `/status` in `ingress`. */
  answerMs: 1.6
} as const;

/** Limits of this program: defaults of its configuration. */
export const LIMITS = {
  /** MAX_CONNECTIONS: connections of one process. */
  connections: 10_000,
  /** Messages that an edge keeps for those who come back, and their bytes. */
  windowMessages: 2_000,
  windowBytes: 256 * 2 ** 20,
  /** A client connects again after 0.75 to 1.25 of this, in milliseconds. */
  reconnectMs: 5_000,
  /** A client gives an attempt up after this, in milliseconds. */
  patienceMs: 10_000
} as const;

/** Bytes beside the body of a message in NATS: subject, headers, framing. */
export const NATS_HEAD_BYTES = 700;

/** Share of a core and of a network card that may be in use on average; the rest is for bursts. */
export const USABLE = 0.5;

/** Returns the CPU of one message to one subscriber, in seconds; it grows with the bytes that the kernel copies. */
export function sendSeconds(bytes: number): number {
  const { sendUs, sendBytes } = MEASURED;
  return (sendUs * (SEND_FIXED + (1 - SEND_FIXED) * (bytes / sendBytes))) / 1e6;
}

/** Part of `sendUs` that a message costs whatever its length: assumed, and of no weight where the network is the bottleneck. */
const SEND_FIXED = 0.5;
