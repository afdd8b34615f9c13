import type { Transferable } from 'node:worker_threads';
import { PlatformError, type WireError } from '../../src/errors.ts';
import { TransientMap } from '../../src/transient-map.ts';
import type { Exchange } from '../../src/wire/state/timeline.ts';

/** The requests of a channel: by type, the body that is sent and the reply. */
export type Protocol = Record<string, { request: unknown; reply: unknown }>;

/** The one-way messages of a channel: by type, the body that is sent. */
export type Notices = Record<string, unknown>;

/** The part of a `Worker` or `parentPort` that a channel uses. */
export interface Port {
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'messageerror', listener: (error: Error) => void): unknown;
}

/** A reply whose buffers or ports move to the asker instead of being copied. */
export class Transferred<T> {
  readonly value: T;
  readonly transfer: readonly Transferable[];
  constructor(value: T, transfer: readonly Transferable[]) {
    this.value = value;
    this.transfer = transfer;
  }
}

type Answered<T> = T | Transferred<T>;

/** One handler for each type of ask. What it throws is the asker's error. */
export type Handlers<P extends Protocol> = {
  readonly [K in keyof P]: (body: P[K]['request']) => Answered<P[K]['reply']> | Promise<Answered<P[K]['reply']>>;
};

/** One listener for each type of notice. */
export type Listeners<N extends Notices> = { readonly [K in keyof N]: (body: N[K]) => void };

interface ChannelOptions<Local extends Protocol, Heard extends Notices> {
  /** Answers what the peer asks. */
  readonly handlers: Handlers<Local>;
  /** Take what the peer tells; a notice without a listener is a fault. */
  readonly listeners: Listeners<Heard>;
  /** Sees each fault of a handler or listener with its cause and stack; only code and detail cross the port. */
  readonly onFault: (error: PlatformError, type: string) => void;
  readonly onExchange?: (exchange: Exchange) => void;
  /** Asks of the peer that may be in work at once; further ones are refused with ACTOR_BUSY. */
  readonly mailboxLimit: number;
  /** Types that are taken even when the mailbox is full. */
  readonly urgent?: readonly string[];
}

export interface AskOptions {
  /** The asker's patience; the handler is not cancelled when it runs out. */
  readonly deadlineMs?: number;
  readonly transfer?: readonly Transferable[];
  /**
   * One of very many. Only its failure is an exchange, or such would drive out all others that are kept; and those of one turn of
   * the event loop go in one message, since each message wakes the thread at the other end. Its answer comes the same way.
   */
  readonly isRoutine?: boolean;
}

type Answer = { readonly kind: 'answer'; readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: WireError }
);

interface Ask {
  readonly kind: 'ask';
  readonly id: number;
  readonly type: string;
  readonly body: unknown;
  readonly isRoutine: boolean;
}

type Envelope =
  | Ask
  | Answer
  | { readonly kind: 'notice'; readonly type: string; readonly body: unknown }
  | { readonly kind: 'several'; readonly envelopes: readonly Envelope[] };

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: PlatformError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Returns an error's wire form that any port takes: a detail that cannot be cloned is left out. */
export function portableError(error: PlatformError): WireError {
  const wire = error.toWire();
  try {
    return structuredClone(wire);
  } catch {
    return { ...wire, detail: { reason: wire.message } };
  }
}

const DEFAULT_ASK_DEADLINE_MS = 5_000;
/** The longest delay a timer can hold; a longer patience means this one. */
const LONGEST_DEADLINE_MS = 2 ** 31 - 1;

/** One end of a message port: typed ask and reply both ways, one-way notices, a bounded mailbox. */
export class Channel<
  Local extends Protocol,
  Remote extends Protocol,
  Heard extends Notices = Record<never, never>,
  Told extends Notices = Record<never, never>
> {
  readonly #port: Port;
  readonly #options: ChannelOptions<Local, Heard>;
  readonly #pending = new TransientMap<number, Pending>();
  /** When each ask of the peer that is in work arrived, oldest first. */
  readonly #mailbox = new TransientMap<number, number>();
  /** Routine that is sent when this turn of the event loop ends. */
  #outbox: Envelope[] = [];
  #nextId = 0;
  #closed: PlatformError | undefined;

  constructor(port: Port, options: ChannelOptions<Local, Heard>) {
    this.#port = port;
    this.#options = options;
    port.on('message', (message) => this.#receive(message as Envelope));
    port.on('messageerror', (cause) =>
      options.onFault(PlatformError.from(cause, 'PROTOCOL_VIOLATION'), 'messageerror')
    );
  }

  /** Asks of the peer that are being handled. */
  get mailboxDepth(): number {
    return this.#mailbox.size;
  }

  /** Time for which the oldest of them has waited for its answer, in milliseconds; 0 when there is none. */
  get oldestMs(): number {
    const [first] = this.#mailbox.values();
    return first === undefined ? 0 : performance.now() - first;
  }

  /** @throws {PlatformError} ACTOR_TIMEOUT, the error of `close`, or whatever the handler at the other end threw */
  async ask<K extends keyof Remote & string>(
    type: K,
    body: Remote[K]['request'],
    { deadlineMs = DEFAULT_ASK_DEADLINE_MS, transfer = [], isRoutine = false }: AskOptions = {}
  ): Promise<Remote[K]['reply']> {
    if (this.#closed) throw this.#closed;
    const settled = this.#observe('in', type);
    const id = this.#nextId++;
    this.#send({ kind: 'ask', id, type, body, isRoutine }, isRoutine, transfer);
    const { promise, resolve, reject } = Promise.withResolvers<Remote[K]['reply']>();
    const late = () => {
      this.#pending.delete(id);
      reject(new PlatformError('ACTOR_TIMEOUT', { reason: `no reply to ${type} in time`, deadlineMs }));
    };
    const timer = setTimeout(late, Math.min(deadlineMs, LONGEST_DEADLINE_MS));
    this.#pending.set(id, { resolve, reject, timer });
    if (settled) promise.then(isRoutine ? undefined : () => settled(), settled);
    return promise;
  }

  /** Sends a notice; after `close` it goes nowhere. */
  tell<K extends keyof Told & string>(type: K, body: Told[K]): void {
    if (!this.#closed) this.#port.postMessage({ kind: 'notice', type, body } satisfies Envelope);
  }

  /** Rejects every ask in flight and every later one with this error. */
  close(error: PlatformError): void {
    this.#closed ??= error;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }

  #receive(envelope: Envelope): void {
    switch (envelope.kind) {
      case 'ask':
        void this.#answer(envelope);
        return;
      case 'several':
        for (const each of envelope.envelopes) this.#receive(each);
        return;
      case 'notice':
        this.#takeNotice(envelope.type, envelope.body);
        return;
      case 'answer':
        this.#settle(envelope);
        return;
      default:
        this.#options.onFault(new PlatformError('PROTOCOL_VIOLATION', { envelope }), 'unknown');
    }
  }

  #takeNotice(type: string, body: unknown): void {
    const { listeners } = this.#options;
    try {
      if (!Object.hasOwn(listeners, type)) {
        throw new PlatformError('PROTOCOL_VIOLATION', { reason: `no listener for ${type}` });
      }
      listeners[type]!(body as never);
    } catch (caught) {
      this.#options.onFault(PlatformError.from(caught), type);
    }
  }

  /** @returns what to call when the ask is settled; undefined while nobody looks */
  #observe(direction: Exchange['direction'], type: string): ((error?: PlatformError) => void) | undefined {
    const { onExchange } = this.#options;
    if (!onExchange) return undefined;
    const [at, began] = [Date.now(), performance.now()];
    return (error) => {
      const ms = Math.round(performance.now() - began);
      onExchange({ at, ms, direction, type, ...(error ? { error: error.code } : {}) });
    };
  }

  #send(envelope: Envelope, isRoutine: boolean, transfer: readonly Transferable[]): void {
    if (!isRoutine || transfer.length > 0) this.#port.postMessage(envelope, transfer);
    else if (this.#outbox.push(envelope) === 1) setImmediate(() => this.#sendRoutine());
  }

  #sendRoutine(): void {
    const envelopes = this.#outbox;
    this.#outbox = [];
    try {
      this.#port.postMessage({ kind: 'several', envelopes } satisfies Envelope);
    } catch (caught) {
      this.#options.onFault(PlatformError.from(caught, 'PROTOCOL_VIOLATION'), 'several');
    }
  }

  async #answer({ id, type, body, isRoutine }: Ask): Promise<void> {
    const settled = this.#observe('out', type);
    try {
      const result = await this.#handle(id, type, body);
      const { value, transfer } = result instanceof Transferred ? result : new Transferred(result, []);
      this.#send({ kind: 'answer', id, ok: true, value }, isRoutine, transfer);
      settled?.();
    } catch (caught) {
      const error = PlatformError.from(caught);
      settled?.(error);
      this.#options.onFault(error, type);
      this.#port.postMessage({ kind: 'answer', id, ok: false, error: portableError(error) } satisfies Answer);
    }
  }

  async #handle(id: number, type: string, body: unknown): Promise<unknown> {
    const { handlers, mailboxLimit, urgent = [] } = this.#options;
    if (!Object.hasOwn(handlers, type)) {
      throw new PlatformError('PROTOCOL_VIOLATION', { reason: `no handler for ${type}` });
    }
    if (this.#mailbox.size >= mailboxLimit && !urgent.includes(type)) {
      throw new PlatformError('ACTOR_BUSY', { reason: `${this.#mailbox.size} requests are in work`, mailboxLimit });
    }
    this.#mailbox.set(id, performance.now());
    try {
      return await handlers[type]!(body as never);
    } finally {
      this.#mailbox.delete(id);
    }
  }

  /** Settles the request of an answer. An answer that arrives after its deadline finds nothing pending and is dropped. */
  #settle(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    if (!pending) return;
    this.#pending.delete(answer.id);
    clearTimeout(pending.timer);
    if (answer.ok) pending.resolve(answer.value as never);
    else pending.reject(PlatformError.fromWire(answer.error));
  }
}
