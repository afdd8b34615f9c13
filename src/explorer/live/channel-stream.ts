import type { WebSocket } from 'ws';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Payer } from '../../service/ingress/payer.ts';
import { placeFor } from '../../service/stream/place-for.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { Coin } from '../coins.ts';
import type { Row, Subject } from './advance.ts';
import { ChannelClient } from './channel-client.ts';
import { FLOODED, MESSAGE_LIMITS, readMessage } from './channel-messages.ts';
import { ChannelNews } from './channel-news.ts';
import { newestOf, type Read, readRows } from './channel-states.ts';
import { isWanted, subjectOf } from './channel-subjects.ts';
import {
  CHANNELS,
  ChannelFault,
  ignoredFilters,
  readEnded,
  readSubscriptions,
  type Subscription,
  TYPES
} from './channels.ts';
import { Followed } from './followed.ts';
import { actionOf } from './outcomes.ts';

/** Limits that clients in use know, and that WELCOME names. */
const LIMITS = { subscriptions: 25, perAddress: 5 } as const;
/** Messages of one client that wait for their answer. */
const MAX_UNDER_WAY = 25;
/** Bounds of what a client is sent at once: the frames of one block fit. */
const SEND_LIMITS = { sends: 1_000, bytes: 128 * 1_024 } as const;
/** Connections of one network. */
const MAX_CLIENTS = 1_000;
const LOOK_INTERVAL_MS = 500;
const MEMPOOL_INTERVAL_MS = 2_000;
const PING_INTERVAL_MS = 30_000;
/** A client that follows nothing for so long is let go. */
const IDLE_MS = 300_000;
/** Actions that a client may have missed, and those that are sent again. */
const CATCH_UP_DEPTH = 1_000;
const CATCH_UP_EVENTS = 100;
const CLOSE = { stop: 1001, idle: 4000, busy: 1013 } as const;

interface Connection {
  /** Address under which it is counted. */
  readonly address: string;
  readonly sendBuffer: () => SendBuffer;
  readonly read: Read;
  readonly payer: Payer;
}

/** Connections that follow channels of one network, and their messages. */
export class ChannelStream {
  readonly #coin: Coin;
  readonly #log: Logger;
  readonly #version: string;
  readonly #clients = new Map<StreamSubscriber, ChannelClient>();
  readonly #followed = new Followed();
  readonly #news: ChannelNews;
  readonly #timers: NodeJS.Timeout[];

  constructor(coin: Coin, log: Logger, version: string) {
    this.#coin = coin;
    this.#log = log;
    this.#version = version;
    this.#news = new ChannelNews(coin, log, { clients: () => this.#clients.values(), followed: this.#followed });
    this.#timers = [
      setInterval(() => void this.#news.look(), LOOK_INTERVAL_MS),
      setInterval(() => void this.#news.watch(), MEMPOOL_INTERVAL_MS),
      setInterval(() => this.#keepUp(), PING_INTERVAL_MS)
    ];
  }

  /** Refuses an address one connection more, before the upgrade. @throws {PlatformError} RATE_LIMITED */
  admit(address: string): void {
    const own = [...this.#clients.keys()].filter((each) => each.address === address).length;
    if (own < LIMITS.perAddress) return;
    throw new PlatformError('RATE_LIMITED', { reason: `at most ${LIMITS.perAddress} connections of one address` });
  }

  /** Takes a connection: WELCOME, then what it asks for. */
  take(socket: WebSocket, connection: Connection): void {
    const place = placeFor(this.#clients.keys(), connection.address, MAX_CLIENTS);
    if (place === null) socket.close(CLOSE.busy, 'too many connections');
    else {
      if (place !== 'free') {
        this.#forget(place);
        place.socket.close(CLOSE.busy, 'too many connections');
      }
      this.#begin(socket, connection);
    }
  }

  #begin(socket: WebSocket, { address, sendBuffer, read, payer }: Connection): void {
    const subscriber = new StreamSubscriber(socket, address, sendBuffer, SEND_LIMITS);
    const client = new ChannelClient(this.#coin, this.#log, { subscriber, read, payer, followed: this.#followed });
    socket.on('error', () => socket.terminate());
    socket.on('close', () => this.#forget(subscriber));
    socket.on('message', (data) => this.#hear(client, data as Buffer));
    for (const control of ['ping', 'pong']) socket.on(control, () => this.#hear(client, null));
    this.#clients.set(subscriber, client);
    client.turn = this.#welcome(client);
  }

  /** Ends all connections. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.#clients.keys()) socket.close(CLOSE.stop, 'the service stops');
  }

  async #welcome(client: ChannelClient): Promise<void> {
    await this.#news.begin();
    const newest = await newestOf(client.read).catch(() => null);
    const report = this.#coin.report();
    client.send('WELCOME', {
      version: this.#version,
      server_time: Date.now(),
      latest_block_index: String(newest?.block_index ?? report?.height ?? 0),
      latest_action_index: String(newest?.['action_index'] ?? 0),
      limits: {
        max_subscriptions: LIMITS.subscriptions,
        max_message_rate: MESSAGE_LIMITS.perS,
        max_message_size: MESSAGE_LIMITS.bytes,
        max_connections_per_ip: LIMITS.perAddress
      },
      channels: CHANNELS,
      types: TYPES,
      features: ['snapshot', 'once', 'fields', 'batch', 'catch_up'],
      ...(report?.state === 'stale' ? { stale: true } : {})
    });
    client.subscriber.begin();
  }

  #forget(subscriber: StreamSubscriber): void {
    this.#clients.get(subscriber)?.leaveAll();
    this.#clients.delete(subscriber);
  }

  /** @param data null: a ping or a pong */
  #hear(client: ChannelClient, data: Buffer | null): void {
    const { subscriber, meter } = client;
    const verdict = meter.count(data === null ? 'control' : 'message');
    if (verdict === 'ended') subscriber.socket.terminate();
    else if (verdict === 'cut') subscriber.drop(FLOODED);
    else if (verdict === 'refused')
      client.send('error', { code: 'RATE_LIMITED', message: `at most ${MESSAGE_LIMITS.perS} messages a second` });
    else if (verdict === 'taken' && data !== null) void this.#answer(client, data);
  }

  async #answer(client: ChannelClient, data: Buffer): Promise<void> {
    let id: unknown;
    client.underWay++;
    try {
      if (client.underWay > MAX_UNDER_WAY)
        throw new ChannelFault('RATE_LIMITED', `${MAX_UNDER_WAY} earlier messages wait for their answer`);
      const message = readMessage(data);
      ({ id } = message);
      client.pay();
      await client.turn;
      await this.#serve(client, message);
    } catch (caught) {
      const fault =
        caught instanceof ChannelFault ? caught : new ChannelFault('INTERNAL_ERROR', 'it cannot be answered now');
      if (!(caught instanceof ChannelFault))
        this.#log.debug({ err: PlatformError.from(caught) }, 'no answer to a message');
      client.send('error', { code: fault.code, message: fault.message }, withId(id));
    } finally {
      client.underWay--;
    }
  }

  async #serve(client: ChannelClient, message: Readonly<Record<string, unknown>>): Promise<void> {
    const { action, id } = message;
    if (action === 'ping') return client.send('pong', {}, withId(id));
    if (action === 'subscribe') return await this.#subscribe(client, message);
    if (action === 'unsubscribe') {
      for (const { key, channel, about } of readEnded(message, [...client.subscriptions.values()])) {
        client.leave(key);
        client.send('UNSUBSCRIBED', { channel, ...about }, withId(id));
      }
      return;
    }
    if (action === 'list_subscriptions') {
      const subscriptions = [...client.subscriptions.values()].map(({ channel, about, filters }) => {
        return { channel, ...about, filters };
      });
      const counted = { count: subscriptions.length, limit: LIMITS.subscriptions, subscriptions };
      return client.send('SUBSCRIPTION_LIST', counted, withId(id));
    }
    throw new ChannelFault('INVALID_ACTION', 'action must be ping, subscribe, unsubscribe or list_subscriptions');
  }

  async #subscribe(client: ChannelClient, message: Readonly<Record<string, unknown>>): Promise<void> {
    const asked = readSubscriptions(message);
    const { id, params } = message;
    const added = asked.filter(({ key }) => !client.subscriptions.has(key));
    if (client.subscriptions.size + added.length > LIMITS.subscriptions)
      throw new ChannelFault('SUBSCRIPTION_LIMIT', `at most ${LIMITS.subscriptions} subscriptions of one connection`);
    this.#makeRoom(client, added);
    for (const { channel, about, filters, key } of asked) {
      client.follow({ channel, about, filters, key });
      const ignored = Object.keys(about).length === 0 ? { ignored_filters: ignoredFilters(channel, params) } : {};
      client.send('SUBSCRIBED', { channel, ...about, filters, active_filters: filters, ...ignored }, withId(id));
    }
    const { since_action_index: since, snapshot } = Object(params) as Readonly<Record<string, unknown>>;
    if (since !== undefined && since !== null) await this.#catchUp(client, asked, Number(since), id);
    if (snapshot === true) for (const each of asked) await client.sendState(each, 'SNAPSHOT');
  }

  /** Sees that what is read for each block stays bounded. @see Followed.whoGivesWay  @throws {ChannelFault} SUBSCRIPTION_LIMIT */
  #makeRoom({ subscriber: { address } }: ChannelClient, added: readonly Subscription[]): void {
    const more = added.flatMap((each) => subjectOf(each) ?? []);
    const find = () => this.#followed.whoGivesWay(address, more);
    for (let way = find(); way !== 'room'; way = find()) {
      if (way === null) throw new ChannelFault('SUBSCRIPTION_LIMIT', 'the server follows no more: try again later');
      this.#giveUpNewest(way.address);
    }
  }

  /** Ends the newest subscription of an address that is about something. */
  #giveUpNewest(address: string): void {
    const own = [...this.#clients.values()].filter(({ subscriber }) => subscriber.address === address);
    const [client, newest] = own
      .flatMap((each) => [...each.subscriptions.values()].map((subscription) => [each, subscription] as const))
      .filter(([, subscription]) => subjectOf(subscription) !== null)
      .at(-1)!;
    client.leave(newest.key);
    client.send('UNSUBSCRIBED', { channel: newest.channel, ...newest.about, reason: 'crowded' });
  }

  /** Sends what a client missed since an action; the newest are left out where they are too many. */
  async #catchUp(client: ChannelClient, asked: readonly Subscription[], since: number, id: unknown): Promise<void> {
    if (!Number.isSafeInteger(since) || since < 0)
      throw new ChannelFault('INVALID_PARAMS', 'since_action_index must be an action index');
    if (client.isCatchingUp) throw new ChannelFault('CATCH_UP_IN_PROGRESS', 'one at a time');
    client.isCatchingUp = true;
    try {
      const latest = Number((await newestOf(client.read))?.['action_index'] ?? 0);
      if (latest - since > CATCH_UP_DEPTH)
        throw new ChannelFault(
          'CATCH_UP_TOO_OLD',
          `at most ${CATCH_UP_DEPTH} actions back: read the others from history`
        );
      await this.#news.look();
      const fork = this.#news.forkSince(since);
      if (fork !== null) client.send('REORG', { block_index: String(fork) }, { catch_up: true });
      const found = new Map<number, Row>();
      let isCut = false;
      for (const { channel, about, filters } of asked) {
        const subject = subjectOf({ channel, about });
        if (!subject) continue;
        const missed = await readMissed(client.read, subject, { since, fork: fork ?? Number.POSITIVE_INFINITY });
        for (const row of missed.rows)
          if (isWanted(filters, row['action'])) found.set(Number(row['action_index']), row);
        isCut ||= missed.isCut;
      }
      const missed = [...found.keys()].sort((a, b) => a - b);
      for (const index of missed.slice(0, CATCH_UP_EVENTS))
        client.send('NEW_ACTION', actionOf(found.get(index)!), { catch_up: true });
      const sent = Math.min(missed.length, CATCH_UP_EVENTS);
      const done = {
        events_replayed: sent,
        latest_action_index: String(latest),
        truncated: isCut || missed.length > CATCH_UP_EVENTS
      };
      client.send('CATCH_UP_COMPLETE', done, withId(id));
    } finally {
      client.isCatchingUp = false;
    }
  }

  /** Ends connections that do not answer, and those that follow nothing. */
  #keepUp(): void {
    for (const { subscriber, subscriptions, idleSince } of this.#clients.values()) {
      subscriber.ping();
      if (subscriptions.size === 0 && performance.now() - idleSince > IDLE_MS)
        subscriber.socket.close(CLOSE.idle, 'no subscriptions');
    }
  }
}

/** Reads the actions of a subject above an action, or above a block, newest first. */
async function readMissed(
  read: Read,
  subject: Subject,
  { since, fork }: { readonly since: number; readonly fork: number }
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const isMissed = (row: Row) => Number(row['action_index']) > since || Number(row.block_index) > fork;
  const rows: Row[] = [];
  for (let page = 1; page <= CATCH_UP_DEPTH / CATCH_UP_EVENTS; page++) {
    const found = await readRows(read, 'history', { ...subject, page, limit: CATCH_UP_EVENTS });
    const missed = found.filter(isMissed);
    for (const row of missed) rows.push(row);
    if (missed.length < CATCH_UP_EVENTS) return { rows, isCut: false };
  }
  return { rows, isCut: true };
}

const withId = (id: unknown): object => (id === undefined ? {} : { id });
