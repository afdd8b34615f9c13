import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Payer } from '../../service/ingress/payer.ts';
import type { StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { Coin } from '../coins.ts';
import { MessageMeter } from './channel-messages.ts';
import { type Read, readState } from './channel-states.ts';
import { subjectOf } from './channel-subjects.ts';
import type { Subscription } from './channels.ts';
import type { Followed } from './followed.ts';

const SCHEMA_VERSION = 2;
/** A frame takes some twenty microseconds to write. */
const CALLS_OF_FRAME = 0.2;
/** The frames that tell how something stands after a block. */
export const UPDATES: Readonly<Record<string, string>> = {
  network: 'NETWORK_STATS',
  address: 'ADDRESS_UPDATE',
  token: 'TOKEN_UPDATE',
  dispenser: 'DISPENSER_UPDATE',
  market: 'MARKET_UPDATE'
};

/** Parameters of a new client. */
interface Brought {
  readonly subscriber: StreamSubscriber;
  readonly read: Read;
  readonly payer: Payer;
  /** Subjects that the clients of its network follow. */
  readonly followed: Followed;
}

/** One connection, what it follows, and the frames that it is sent. */
export class ChannelClient {
  readonly subscriber: StreamSubscriber;
  readonly read: Read;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Time at which the client came, or last left a channel, in milliseconds of the process's clock. */
  idleSince = performance.now();
  /** Settles once WELCOME is sent, which is the first frame, and what its messages cost is paid. */
  turn: Promise<void> = Promise.resolve();
  isCatchingUp = false;
  readonly meter = new MessageMeter();
  /** Messages that are not answered yet. */
  underWay = 0;
  readonly #payer: Payer;
  readonly #followed: Followed;
  readonly #coin: Coin;
  readonly #log: Logger;
  /** Keys of subscriptions whose state it is to be sent. */
  readonly #due = new Set<string>();
  #isSending = false;

  constructor(coin: Coin, log: Logger, { subscriber, read, payer, followed }: Brought) {
    this.#coin = coin;
    this.#log = log;
    this.subscriber = subscriber;
    this.read = read;
    this.#payer = payer;
    this.#followed = followed;
  }

  get subscriptions(): ReadonlyMap<string, Subscription> {
    return this.#subscriptions;
  }

  /** Follows a channel from now on, or by other filters. A client that has gone follows nothing. */
  follow(subscription: Subscription): void {
    const { socket, address } = this.subscriber;
    if (socket.readyState !== socket.OPEN) return;
    const subject = this.#subscriptions.has(subscription.key) ? null : subjectOf(subscription);
    if (subject) this.#followed.add(address, subject);
    this.#subscriptions.set(subscription.key, subscription);
  }

  /** Ends a subscription. */
  leave(key: string): void {
    const subscription = this.#subscriptions.get(key);
    const subject = subscription && subjectOf(subscription);
    if (subject) this.#followed.remove(this.subscriber.address, subject);
    this.#subscriptions.delete(key);
    this.idleSince = performance.now();
  }

  /** Ends all subscriptions. */
  leaveAll(): void {
    for (const key of [...this.#subscriptions.keys()]) this.leave(key);
  }

  /** Pays for a message: `turn` settles when nothing is owed. */
  pay(): void {
    this.turn = this.turn.then(() => this.#payer.pay({ calls: 1 }));
  }

  /** Sends one frame, and charges it. @param more members of the frame beside `data` */
  send(type: string, data: object, more: object = {}): void {
    const { chain, network } = this.#coin.network;
    const frame = { type, chain, network, timestamp: Date.now(), data, ...more, schema_version: SCHEMA_VERSION };
    const text = JSON.stringify(frame);
    this.#payer.charge({ calls: CALLS_OF_FRAME, bytes: text.length });
    this.subscriber.send(text);
  }

  /** Sends how what a subscription is about stands now. @throws what the client's `read` throws */
  async sendState({ channel, about, filters }: Subscription, type: string): Promise<void> {
    const state = await readState(this.#coin, this.read, { channel, about });
    if (state) this.send(type, project({ channel, ...about, ...state }, filters.fields));
  }

  /**
   * Sends the states of some subscriptions when this client's reads have their turn; nobody waits for it. One that is
   * still to be sent since an earlier block is sent once, as it stands then.
   *
   * @param keys of subscriptions whose channel is one of UPDATES
   */
  sendUpdates(keys: Iterable<string>): void {
    for (const key of keys) this.#due.add(key);
    if (!this.#isSending) void this.#sendDue();
  }

  /** Ends a subscription that wanted to be told once. */
  endOnce({ channel, about, filters, key }: Subscription): void {
    if (!filters.once) return;
    this.leave(key);
    this.send('UNSUBSCRIBED', { channel, ...about, reason: 'once' });
  }

  /** Sends what is due. What cannot be read now is sent with the next block. */
  async #sendDue(): Promise<void> {
    this.#isSending = true;
    const { socket } = this.subscriber;
    const failed: string[] = [];
    for (const key of this.#due) {
      this.#due.delete(key);
      const subscription = this.subscriptions.get(key);
      if (!subscription || socket.readyState !== socket.OPEN) continue;
      try {
        await this.sendState(subscription, UPDATES[subscription.channel]!);
        this.endOnce(subscription);
      } catch (caught) {
        failed.push(key);
        this.#log.debug({ err: PlatformError.from(caught) }, 'a client gets less of what is new');
      }
    }
    for (const key of failed) this.#due.add(key);
    this.#isSending = false;
  }
}

/** Leaves only the wanted fields in the data of a frame. @param fields null: all */
export const project = (data: object, fields: readonly string[] | null): object =>
  fields === null ? data : Object.fromEntries(Object.entries(data).filter(([name]) => fields.includes(name)));
