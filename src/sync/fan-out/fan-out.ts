import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { SyncConfig } from '../../config/services/sync.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { ResumePoint } from '../../replication/source/reading/resume-point.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import type { Broadcast } from '../../wire/data/broadcast.ts';
import { type DatabaseId, databaseKey, unknownHashes } from '../../wire/data/database.ts';
import type { StatusMessage } from '../../wire/data/messages.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import { MessageWindow, readResumeBlock, sentHeight, type WindowLimits } from './message-window.ts';
import { Subscriber, type SubscriberView } from './subscriber.ts';
import { ValidatorAuth } from './validator-auth.ts';
import { type Sender, ValidatorBook } from './validators.ts';

export type { SubscriberView } from './subscriber.ts';

/** Content of a `status` message: the last block that was broadcast, and what its source does not know. */
type BroadcastPoint = Pick<ResumePoint, 'height' | 'blockTime' | 'hashes' | 'learned' | 'lives'>;

export interface FanOutOptions {
  readonly config: Pick<
    SyncConfig,
    | 'WS_MAX_PER_IP'
    | 'WS_MAX_MESSAGE_BYTES'
    | 'WS_BACKPRESSURE_MAX_BYTES'
    | 'WS_BACKPRESSURE_STALL_MS'
    | 'WS_STATUS_INTERVAL'
    | 'WS_PING_INTERVAL'
    | 'VALIDATOR_HEARTBEAT_TTL'
    | 'VALIDATOR_PUBKEYS'
    | 'SYNC_PUBLIC_HOSTS'
  >;
  readonly log: Logger;
  /** The source's last report: the status of a database without any broadcast yet. */
  readonly lastReport: (
    id: DatabaseId
  ) => Pick<DatabaseReport, 'height' | 'blockTime' | 'hashes' | 'databaseSilentS'> | undefined;
  /** Whether there may be subscribers that are not known here and take no amendments. Default false. */
  readonly hasOthers?: boolean;
  /** Messages that are kept for subscribers that come back, of each database. */
  readonly window?: WindowLimits;
}

export interface Subscription {
  readonly infraOnly: boolean;
  /** Whether the subscriber takes amendments, and messages about them. Default false. */
  readonly amends?: boolean;
  /** `<height>:<hash>` of the block that it stands at: it gets what followed, or is closed when that is not here. */
  readonly after?: string | undefined;
  /** Address under which it is counted. */
  readonly address: string;
  /** The `Host` that it requested: a name of this server where none is configured. */
  readonly host?: string | undefined;
  /** The bytes that its connection has to send. */
  readonly sendBuffer: () => SendBuffer;
  /** Called when it breaks the rules of WebSocket, or sends too much. */
  readonly onFault?: () => void;
}

/** One message on its way to all subscribers that were connected when it was accepted. */
interface QueuedMessage {
  readonly targets: readonly Subscriber[];
  readonly full: Buffer | string;
  readonly infra: Buffer | string;
  /** Undefined for a status message. */
  readonly height: number | undefined;
}

/** One database's subscribers, and the messages that are still to be sent, in order. */
interface Topic {
  readonly id: DatabaseId;
  /** Subscribers with a proven key: written first. */
  readonly validators: Set<Subscriber>;
  readonly others: Set<Subscriber>;
  /** Subscribers that came back and have not got everything yet that followed their block. */
  readonly resuming: Set<Subscriber>;
  readonly queue: QueuedMessage[];
  readonly window: MessageWindow;
  point: BroadcastPoint | null;
  /** Counts the changes of the point. */
  revision: number;
  sending: Promise<void>;
  /** Time (`performance.now()`) until which a subscriber without amendments counts as one that may come back. */
  plainUntil: number;
}

/** A subscriber that was away for longer catches up by a snapshot. */
const PLAIN_RETURN_MS = 3_600_000;
/** Sends between two turns of the event loop: some 5 us each. */
const SLICE = 200;
/** An actor awaits each broadcast; if this much still waits, it does not. */
const MAX_QUEUED = 10_000;
/** Messages that are kept for subscribers; one that misses some catches up by snapshot, or compares its rows. */
const WINDOW: WindowLimits = { messages: 2_000, bytes: 32 * 2 ** 20 };
const SERVICE_RESTART = 1012;
/** The block that a subscriber came back with is not here: it comes again, without it. */
const NOT_RESUMED = 4409;
const TOO_LARGE = 'the message is larger than clients take';
const GOING_DOWN = 'the server is going down; reconnect';
/** Milliseconds between two warnings that a list of validators is full. */
const FULL_NOTICE_MS = 60_000;

/**
 * Hands each message of a source to all subscribers of its database, the same bytes to each, in order.
 *
 * A subscriber gets `status` first and then every message accepted after it, each once: no gap, no repeat, also
 * while the source's actor dies and comes back. One for whom a message is too large gets none from there on and is disconnected: it
 * comes back to a status above its own block, and catches up by snapshot. What subscribers say of themselves goes into `validators`.
 *
 * @see the specification, "Events" and "Backpressure"
 */
export class FanOut {
  readonly validators: ValidatorBook;
  readonly #auth: ValidatorAuth;
  readonly #config: FanOutOptions['config'];
  readonly #log: Logger;
  readonly #lastReport: FanOutOptions['lastReport'];
  readonly #hasOthers: boolean;
  readonly #window: WindowLimits;
  readonly #topics = new Map<string, Topic>();
  readonly #perAddress = new Map<string, number>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #drops: Record<string, number> = {};
  #messages = 0;
  #bytes = 0;
  #closed = false;
  #fullSaidAt = Number.NEGATIVE_INFINITY;

  constructor({ config, log, lastReport, hasOthers = false, window = WINDOW }: FanOutOptions) {
    this.#lastReport = lastReport;
    this.#hasOthers = hasOthers;
    this.#window = window;
    this.#config = config;
    this.#log = log;
    this.validators = new ValidatorBook(config.VALIDATOR_HEARTBEAT_TTL, undefined, config.VALIDATOR_PUBKEYS);
    this.#auth = new ValidatorAuth(config.VALIDATOR_PUBKEYS);
    const measureMs = Math.max(5, Math.min(1_000, config.WS_BACKPRESSURE_STALL_MS / 4));
    this.#timers = [
      setInterval(() => this.#eachSubscriber((subscriber) => subscriber.measure()), measureMs),
      setInterval(() => this.#eachSubscriber((subscriber) => subscriber.ping()), config.WS_PING_INTERVAL),
      setInterval(() => {
        for (const topic of this.#topics.values()) this.#sendStatus(topic);
      }, config.WS_STATUS_INTERVAL)
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /**
   * Accepts messages: when the call returns they are in order behind all earlier ones, and `point` is what a new
   * subscriber's status says; the promise tells when every socket has them.
   *
   * @throws {PlatformError} ACTOR_BUSY when too many wait, with none of these accepted
   */
  broadcast(id: DatabaseId, messages: readonly Broadcast[], point: BroadcastPoint): Promise<void> {
    this.checkRoom(id);
    const topic = this.#topic(id);
    const targets = live(topic);
    const amending = targets.filter(({ amends }) => amends);
    let tip = topic.point?.height;
    for (const message of messages) {
      const full = asBuffer(message.bytes);
      const infra = message.infraBytes ? asBuffer(message.infraBytes) : full;
      const height = sentHeight(message);
      topic.queue.push({ targets: height === undefined ? amending : targets, full, infra, height });
      topic.window.push(message, full, infra, tip);
      tip = height ?? tip;
      if (this.#isTooLarge(full) || this.#isTooLarge(infra)) topic.window.clear();
    }
    if (messages.some(({ type }) => type === 'amendment') && !this.hasPlain(id)) topic.window.endPlain();
    this.setPoint(id, point);
    return this.#drain(topic);
  }

  /** @throws {PlatformError} ACTOR_BUSY when so many messages wait that none is accepted */
  checkRoom(id: DatabaseId): void {
    const waiting = this.#topic(id).queue.length;
    if (waiting >= MAX_QUEUED) throw new PlatformError('ACTOR_BUSY', { reason: `${waiting} messages wait to be sent` });
  }

  /**
   * Sets the point that a new subscriber's status reports, if no message carries it. The other subscribers are told at once of
   * changes that the source does not know, and of another start of it. A point without `lives` is of the same start.
   */
  setPoint(id: DatabaseId, point: BroadcastPoint): void {
    const topic = this.#topic(id);
    const { learned, lives = topic.point?.lives } = point;
    const isLearned = learned !== undefined && learned.id !== topic.point?.learned?.id;
    const isNews = isLearned || lives?.at(-1)?.id !== topic.point?.lives?.at(-1)?.id;
    topic.point = { ...point, ...(lives && { lives }) };
    topic.revision += 1;
    if (isNews) this.#sendStatus(topic);
  }

  /** Tells all subscribers at once how the source stands. */
  tellStatus(id: DatabaseId): void {
    this.#sendStatus(this.#topic(id));
  }

  /** Ends all connections, and lets nobody resume from before the next message: what comes does not follow what was sent. */
  breakOff(id: DatabaseId, reason: string): void {
    const topic = this.#topic(id);
    topic.window.clear();
    for (const subscriber of everyone(topic)) subscriber.drop(reason);
  }

  /** Returns whether some subscribers take no amendments, or one that left and may come back did not. */
  hasPlain(id: DatabaseId): boolean {
    const topic = this.#topic(id);
    return this.#hasOthers || performance.now() < topic.plainUntil || everyone(topic).some(({ amends }) => !amends);
  }

  /** Grows with each broadcast; 0 before the first. */
  revision(id: DatabaseId): number {
    return this.#topic(id).revision;
  }

  /** Returns whether one more connection of this address is allowed. */
  admits(address: string): boolean {
    return !this.#closed && (this.#perAddress.get(address) ?? 0) < this.#config.WS_MAX_PER_IP;
  }

  /** Takes a connection that was upgraded, and sends it its status at once; then what followed its block, if it came with one. */
  subscribe(id: DatabaseId, socket: WebSocket, subscription: Subscription): void {
    const { amends = false, infraOnly, address, onFault } = subscription;
    const after = subscription.after === undefined ? undefined : readResumeBlock(subscription.after);
    const topic = this.#topic(id);
    this.#count(address, socket);
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      this.#log.debug({ err: cause }, 'subscriber failed');
      if (cause.code?.startsWith('WS_ERR_')) onFault?.();
    });
    const position = after && topic.window.behind(after, !amends);
    if (position === null) {
      socket.close(NOT_RESUMED, 'take a snapshot');
      return;
    }
    const status = this.#status(topic);
    const subscriber = this.#subscriber(topic, socket, subscription, after?.height ?? status.block_height);
    subscriber.send(JSON.stringify(position === undefined ? status : { ...status, resumed: true }));
    if (position !== undefined) {
      topic.resuming.add(subscriber);
      void this.#resume(topic, subscriber, position);
      return;
    }
    const amendments = topic.window.sinceLastBlock.filter(({ height }) => height === topic.point?.height);
    for (const { full, infra } of amends ? amendments : []) subscriber.send(infraOnly ? infra : full);
    join(topic, subscriber);
  }

  subscribers(id: DatabaseId): SubscriberView[] {
    const topic = this.#topics.get(databaseKey(id));
    return topic ? everyone(topic).map(({ view }) => view) : [];
  }

  /** Since the start: messages and bytes handed to sockets, and subscribers dropped by reason; and the messages that wait now. */
  get counts() {
    const queued = [...this.#topics.values()].reduce((sum, { queue }) => sum + queue.length, 0);
    return {
      messages: this.#messages,
      bytes: this.#bytes,
      drops: this.#drops as Readonly<Record<string, number>>,
      queued
    };
  }

  /** Asks every subscriber to reconnect later (1012) and accepts no more. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.validators.close();
    this.#eachSubscriber(({ socket }) => socket.close(SERVICE_RESTART, GOING_DOWN));
  }

  /** Counts a connection under its address until it is closed. */
  #count(address: string, socket: WebSocket): void {
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
    socket.once('close', () => {
      const left = (this.#perAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#perAddress.set(address, left);
      else this.#perAddress.delete(address);
    });
  }

  #subscriber(
    topic: Topic,
    socket: WebSocket,
    { infraOnly, amends = false, address, host = '', sendBuffer, onFault }: Subscription,
    height: number | null
  ): Subscriber {
    const { id } = topic;
    const hosts = this.#config.SYNC_PUBLIC_HOSTS ?? [host.toLowerCase()];
    let name: string | null = null;
    const leave = () => {
      if (!amends) topic.plainUntil = performance.now() + PLAIN_RETURN_MS;
      for (const set of [topic.validators, topic.others, topic.resuming]) set.delete(subscriber);
    };
    const subscriber = new Subscriber(socket, {
      infraOnly,
      amends,
      sendBuffer,
      onFlood: () => onFault?.(),
      height,
      limits: { maxBytes: this.#config.WS_BACKPRESSURE_MAX_BYTES, stallMs: this.#config.WS_BACKPRESSURE_STALL_MS },
      onDrop: (reason) => {
        leave();
        const kind = reason.replace(/ ?\(.*| for \d+ms$/, '');
        this.#drops[kind] = (this.#drops[kind] ?? 0) + 1;
        this.#log.warn({ database: databaseKey(id), subscriber: subscriber.id }, reason);
      },
      onHeartbeat: (appliedHeight) =>
        this.#beat(id, name ?? `ws-${subscriber.id}`, appliedHeight, { address, isProven: name !== null }),
      onAuth: (message) => {
        name = this.#auth.identify(message, Date.now(), hosts, address);
        if (name === null) return false;
        this.validators.proved(id, name);
        if (topic.others.delete(subscriber)) topic.validators.add(subscriber);
        return true;
      }
    });
    socket.once('close', () => {
      leave();
      if (name !== null) this.validators.left(id, name);
    });
    return subscriber;
  }

  /** Sends what followed a position as fast as the subscriber takes it; from then on it gets what comes. */
  async #resume(topic: Topic, subscriber: Subscriber, from: number): Promise<void> {
    for (let position = from; position < topic.window.next; position++) {
      const message = topic.window.at(position);
      if (!message) {
        subscriber.socket.close(NOT_RESUMED, 'take a snapshot'); // it takes it more slowly than messages come
        return;
      }
      const height = sentHeight(message);
      if (height === undefined && !subscriber.amends) continue;
      const bytes = subscriber.infraOnly ? message.infra : message.full;
      await subscriber.sendWhenFree(bytes, height);
      this.#messages += 1;
      this.#bytes += bytes.length;
      if (!topic.resuming.has(subscriber)) return;
    }
    topic.resuming.delete(subscriber);
    subscriber.send(JSON.stringify(this.#status(topic)));
    join(topic, subscriber);
  }

  #isTooLarge({ length }: { readonly length: number }): boolean {
    return length === 0 || length > this.#config.WS_MAX_MESSAGE_BYTES;
  }

  #topic(id: DatabaseId): Topic {
    const key = databaseKey(id);
    const topic = this.#topics.get(key) ?? {
      id,
      validators: new Set(),
      others: new Set(),
      resuming: new Set(),
      queue: [],
      window: new MessageWindow(this.#window),
      point: null,
      revision: 0,
      sending: Promise.resolve(),
      plainUntil: Number.NEGATIVE_INFINITY
    };
    this.#topics.set(key, topic);
    return topic;
  }

  /** Status messages wait their turn behind the blocks that they count. */
  #sendStatus(topic: Topic): void {
    const text = JSON.stringify(this.#status(topic));
    topic.queue.push({ targets: live(topic), full: text, infra: text, height: undefined });
    void this.#drain(topic);
  }

  /** Sends the queue; several callers keep the order by waiting for each other. */
  #drain(topic: Topic): Promise<void> {
    topic.sending = topic.sending.then(async () => {
      let sent = 0;
      for (let message = topic.queue.shift(); message; message = topic.queue.shift()) {
        const { targets, full, infra, height } = message;
        for (const target of targets) {
          if (++sent % SLICE === 0) await nextTurn();
          const message = target.infraOnly ? infra : full;
          if (this.#isTooLarge(message)) {
            target.drop(`${TOO_LARGE} (block ${height}): catch up by snapshot`);
            continue;
          }
          target.send(message, height);
          this.#messages += 1;
          this.#bytes += message.length;
        }
      }
    });
    return topic.sending;
  }

  #status({ id, point }: Topic): StatusMessage {
    const { dbType, chain, network } = id;
    const report = this.#lastReport(id);
    const { height, blockTime, hashes } = point ?? report ?? {};
    const silentS = report?.databaseSilentS ?? 0;
    return {
      type: 'status',
      chain,
      network,
      dbType,
      block_height: height == null || height < 0 ? null : height, // -1: a source without a block
      block_time: blockTime ?? null,
      ...(hashes ?? unknownHashes(dbType)),
      ...(point?.learned && { learned: point.learned }),
      ...(point?.lives && { lives: [...point.lives] }),
      ...(silentS > 0 && { database_silent_s: silentS })
    };
  }

  #eachSubscriber(act: (subscriber: Subscriber) => void): void {
    for (const topic of this.#topics.values()) for (const subscriber of everyone(topic)) act(subscriber);
  }

  /** Leaves a validator out when the list is full, and warns from time to time. */
  #beat(id: DatabaseId, validatorId: string, appliedHeight: number, sender: Sender): void {
    try {
      this.validators.beat(id, validatorId, { appliedHeight, appliedBlockTime: null }, sender);
    } catch (caught) {
      if (!hasCode(caught, 'VALIDATORS_FULL')) throw caught;
      if (performance.now() - this.#fullSaidAt < FULL_NOTICE_MS) return;
      this.#fullSaidAt = performance.now();
      this.#log.warn({ database: databaseKey(id), hint: caught.hint }, caught.message);
    }
  }
}

function join({ validators, others }: Topic, subscriber: Subscriber): void {
  (subscriber.isProven ? validators : others).add(subscriber);
}

/** Subscribers that get each message as it comes. */
function live({ validators, others }: Topic): Subscriber[] {
  return [...validators, ...others];
}

function everyone(topic: Topic): Subscriber[] {
  return [...live(topic), ...topic.resuming];
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
