import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { Coin } from '../coins.ts';
import { type Read, readState } from './channel-states.ts';
import type { Subscription } from './channels.ts';

const SCHEMA_VERSION = 2;
/** The frames that tell how something stands after a block. */
export const UPDATES: Readonly<Record<string, string>> = {
  network: 'NETWORK_STATS',
  address: 'ADDRESS_UPDATE',
  token: 'TOKEN_UPDATE',
  dispenser: 'DISPENSER_UPDATE',
  market: 'MARKET_UPDATE'
};

/** What a client brings. */
interface Brought {
  readonly subscriber: StreamSubscriber;
  readonly read: Read;
}

/** One connection, what it follows, and the frames that it is sent. */
export class ChannelClient {
  readonly subscriber: StreamSubscriber;
  readonly read: Read;
  readonly subscriptions = new Map<string, Subscription>();
  readonly since = performance.now();
  /** Settles once WELCOME is sent, which is the first frame. */
  welcomed: Promise<void> = Promise.resolve();
  isCatchingUp = false;
  /** Messages of this second. */
  second = 0;
  messages = 0;
  readonly #coin: Coin;
  readonly #log: Logger;
  /** Keys of subscriptions whose state it is to be sent. */
  readonly #due = new Set<string>();
  #isSending = false;

  constructor(coin: Coin, log: Logger, { subscriber, read }: Brought) {
    this.#coin = coin;
    this.#log = log;
    this.subscriber = subscriber;
    this.read = read;
  }

  /** Sends one frame. @param more members of the frame beside `data` */
  send(type: string, data: object, more: object = {}): void {
    const { chain, network } = this.#coin.network;
    const frame = { type, chain, network, timestamp: Date.now(), data, ...more, schema_version: SCHEMA_VERSION };
    this.subscriber.send(JSON.stringify(frame));
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
    this.subscriptions.delete(key);
    this.send('UNSUBSCRIBED', { channel, ...about, reason: 'once' });
  }

  /** One that cannot be read now is sent with the next block. */
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
