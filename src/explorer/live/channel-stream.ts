import type { WebSocket } from 'ws';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { placeFor } from '../../service/stream/place-for.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';
import { type Advance, Advances, nameOf, type Row, type Subject, type SubjectActions } from './advance.ts';
import { CHANNELS, ChannelFault, readSubscriptions, type Subscription, TYPES } from './channels.ts';
import { namesOf, whoGivesWay } from './full-pool.ts';
import { MempoolWatch } from './mempool-watch.ts';
import { actionOf, framesOf, REQUIRED, readRequired } from './outcomes.ts';

/** As clients in use know them, and are told in WELCOME. */
const LIMITS = { subscriptions: 25, messagesPerS: 10, messageBytes: 1_024, perAddress: 5 } as const;
/** Bounds of what a client is sent at once: the frames of one block fit. */
const SEND_LIMITS = { sends: 1_000, bytes: 128 * 1_024 } as const;
/** Of one network: connections, and what is read for each block. */
const MAX_CLIENTS = 1_000;
const MAX_SUBJECTS = 500;
const LOOK_INTERVAL_MS = 500;
const MEMPOOL_INTERVAL_MS = 2_000;
const PING_INTERVAL_MS = 30_000;
/** A client that follows nothing for so long is let go. */
const IDLE_MS = 300_000;
const KEPT_BLOCKS = 100;
/** Actions that a client may have missed, and those that are sent again. */
const CATCH_UP_DEPTH = 1_000;
const CATCH_UP_EVENTS = 100;
const SCHEMA_VERSION = 2;
const CLOSE = { stop: 1001, idle: 4000, busy: 1013, many: 1008 } as const;
const NO_ACTIONS: SubjectActions = { rows: [], isCut: false };
const EVERYTHING: Subject = { type: 'recent', query: 'all' };
/** Channels that are sent each action of theirs. */
const OF_ACTIONS: Readonly<Record<string, Subject['type']>> = { address: 'address', token: 'token' };

type Frames = ReturnType<typeof framesOf>;
/** Reads for one client, in the turns of its address. @throws what the coin's `read` throws; ANSWERS_WAITING */
type Read = Coin['read'];

interface Client {
  readonly read: Read;
  readonly subscriber: StreamSubscriber;
  readonly subscriptions: Map<string, Subscription>;
  readonly since: number;
  /** Messages of this second. */
  second: number;
  messages: number;
  isCatchingUp: boolean;
  /** Settles once WELCOME is sent, which is the first frame. */
  welcomed: Promise<void>;
}

interface Connection {
  /** Under which it is counted. */
  readonly address: string;
  readonly sendBuffer: () => SendBuffer;
  readonly read: Read;
}

/** What is new in one network, by the channels that each client follows. */
export class ChannelStream {
  readonly #coin: Coin;
  readonly #advances: Advances;
  readonly #log: Logger;
  readonly #version: string;
  readonly #clients = new Map<StreamSubscriber, Client>();
  readonly #timers: NodeJS.Timeout[];
  /** Newest first; empty while nobody listens. */
  #known: readonly Row[] = [];
  #mark: string | null = null;
  #isLooking = false;
  readonly #mempool = new MempoolWatch();
  #isWatching = false;

  constructor(coin: Coin, log: Logger, version: string) {
    this.#coin = coin;
    this.#advances = new Advances(coin);
    this.#log = log;
    this.#version = version;
    this.#timers = [
      setInterval(() => void this.#look(), LOOK_INTERVAL_MS),
      setInterval(() => void this.#watch(), MEMPOOL_INTERVAL_MS),
      setInterval(() => this.#keepUp(), PING_INTERVAL_MS)
    ];
  }

  /** Takes a connection: WELCOME, then what it asks for. */
  take(socket: WebSocket, connection: Connection): void {
    const own = [...this.#clients.keys()].filter((each) => each.address === connection.address).length;
    const place = placeFor(this.#clients.keys(), connection.address, MAX_CLIENTS);
    if (own >= LIMITS.perAddress) socket.close(CLOSE.many, `at most ${LIMITS.perAddress} of one address`);
    else if (place === null) socket.close(CLOSE.busy, 'too many connections');
    else {
      if (place !== 'free') {
        this.#clients.delete(place);
        place.socket.close(CLOSE.busy, 'too many connections');
      }
      this.#begin(socket, connection);
    }
  }

  #begin(socket: WebSocket, { address, sendBuffer, read }: Connection): void {
    const subscriber = new StreamSubscriber(socket, address, sendBuffer, SEND_LIMITS);
    const client: Client = {
      ...{
        read,
        subscriber,
        subscriptions: new Map(),
        since: performance.now(),
        second: 0,
        messages: 0,
        isCatchingUp: false,
        welcomed: Promise.resolve()
      }
    };
    socket.on('error', () => socket.terminate());
    socket.on('close', () => this.#clients.delete(subscriber));
    socket.on('message', (data) => void this.#answer(client, data as Buffer));
    if (this.#clients.size === 0) {
      this.#known = [];
      this.#mark = null;
    }
    this.#clients.set(subscriber, client);
    client.welcomed = this.#welcome(client);
  }

  /** Ends all connections. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.#clients.keys()) socket.close(CLOSE.stop, 'the service stops');
  }

  #send({ subscriber }: Client, type: string, data: object, more: object = {}): void {
    const { chain, network } = this.#coin.network;
    const frame = { type, chain, network, timestamp: Date.now(), data, ...more, schema_version: SCHEMA_VERSION };
    subscriber.send(JSON.stringify(frame));
  }

  async #welcome(client: Client): Promise<void> {
    const newest = await newestOf(client.read).catch(() => null);
    const report = this.#coin.report();
    this.#send(client, 'WELCOME', {
      version: this.#version,
      server_time: Date.now(),
      latest_block_index: String(newest?.block_index ?? report?.height ?? 0),
      latest_action_index: String(newest?.['action_index'] ?? 0),
      limits: {
        max_subscriptions: LIMITS.subscriptions,
        max_message_rate: LIMITS.messagesPerS,
        max_message_size: LIMITS.messageBytes,
        max_connections_per_ip: LIMITS.perAddress
      },
      channels: CHANNELS,
      types: TYPES,
      features: ['snapshot', 'once', 'fields', 'batch', 'catch_up'],
      ...(report?.state === 'stale' ? { stale: true } : {})
    });
    client.subscriber.begin();
  }

  async #answer(client: Client, data: Buffer): Promise<void> {
    let id: unknown;
    try {
      const message = readMessage(client, data);
      ({ id } = message);
      await client.welcomed;
      await this.#serve(client, message);
    } catch (caught) {
      const fault =
        caught instanceof ChannelFault ? caught : new ChannelFault('INTERNAL_ERROR', 'it cannot be answered now');
      if (!(caught instanceof ChannelFault))
        this.#log.debug({ err: PlatformError.from(caught) }, 'no answer to a message');
      this.#send(client, 'error', { code: fault.code, message: fault.message }, withId(id));
    }
  }

  async #serve(client: Client, message: Readonly<Record<string, unknown>>): Promise<void> {
    const { action, id } = message;
    if (action === 'ping') return this.#send(client, 'pong', {}, withId(id));
    if (action === 'subscribe') return await this.#subscribe(client, message);
    if (action === 'unsubscribe') {
      for (const { key, channel, about } of readSubscriptions(message)) {
        client.subscriptions.delete(key);
        this.#send(client, 'UNSUBSCRIBED', { channel, ...about }, withId(id));
      }
      return;
    }
    if (action === 'list_subscriptions') {
      const subscriptions = [...client.subscriptions.values()].map(({ channel, about, filters }) => {
        return { channel, ...about, filters };
      });
      const counted = { count: subscriptions.length, limit: LIMITS.subscriptions, subscriptions };
      return this.#send(client, 'SUBSCRIPTION_LIST', counted, withId(id));
    }
    throw new ChannelFault('INVALID_ACTION', 'action must be ping, subscribe, unsubscribe or list_subscriptions');
  }

  async #subscribe(client: Client, message: Readonly<Record<string, unknown>>): Promise<void> {
    const asked = readSubscriptions(message);
    const { id, params } = message;
    const added = asked.filter(({ key }) => !client.subscriptions.has(key));
    if (client.subscriptions.size + added.length > LIMITS.subscriptions)
      throw new ChannelFault('SUBSCRIPTION_LIMIT', `at most ${LIMITS.subscriptions} subscriptions of one connection`);
    this.#makeRoom(client, added);
    for (const { channel, about, filters, key } of asked) {
      client.subscriptions.set(key, { channel, about, filters, key });
      const ignored = Object.keys(about).length === 0 ? { ignored_filters: [] } : {};
      this.#send(client, 'SUBSCRIBED', { channel, ...about, filters, active_filters: filters, ...ignored }, withId(id));
    }
    const { since_action_index: since, snapshot } = Object(params) as Readonly<Record<string, unknown>>;
    if (since !== undefined && since !== null) await this.#catchUp(client, asked, Number(since), id);
    if (snapshot === true) for (const each of asked) await this.#sendState(client, each, 'SNAPSHOT');
  }

  /** Sees that what is read for each block stays bounded. @see whoGivesWay  @throws {ChannelFault} SUBSCRIPTION_LIMIT */
  #makeRoom({ subscriber: { address } }: Client, added: readonly Subscription[]): void {
    const more = namesOf(subjectsOf(added));
    for (let way = this.#wayFor(address, more); way !== 'room'; way = this.#wayFor(address, more)) {
      if (way === null) throw new ChannelFault('SUBSCRIPTION_LIMIT', 'the server follows no more: try again later');
      this.#giveUpNewest(way.address);
    }
  }

  #wayFor(address: string, more: ReadonlySet<string>) {
    const followed = new Map<string, ReadonlySet<string>>();
    for (const { subscriber, subscriptions } of this.#clients.values()) {
      const before = followed.get(subscriber.address) ?? new Set<string>();
      followed.set(subscriber.address, before.union(namesOf(subjectsOf(subscriptions.values()))));
    }
    return whoGivesWay(followed, { address, more, most: MAX_SUBJECTS });
  }

  /** Ends the newest subscription of an address that is about something. */
  #giveUpNewest(address: string): void {
    const own = [...this.#clients.values()].filter(({ subscriber }) => subscriber.address === address);
    const [client, newest] = own
      .flatMap((each) => [...each.subscriptions.values()].map((subscription) => [each, subscription] as const))
      .filter(([, { channel, about }]) => subjectOf(channel, about) !== null)
      .at(-1)!;
    client.subscriptions.delete(newest.key);
    this.#send(client, 'UNSUBSCRIBED', { channel: newest.channel, ...newest.about, reason: 'crowded' });
  }

  /** Sends what a client missed since an action; the newest are left out where they are too many. */
  async #catchUp(client: Client, asked: readonly Subscription[], since: number, id: unknown): Promise<void> {
    if (!Number.isSafeInteger(since) || since < 0)
      throw new ChannelFault('INVALID_PARAMS', 'since_action_index must be an action index');
    if (client.isCatchingUp) throw new ChannelFault('CATCH_UP_IN_PROGRESS', 'one at a time');
    const latest = Number((await newestOf(client.read))?.['action_index'] ?? 0);
    if (latest - since > CATCH_UP_DEPTH)
      throw new ChannelFault(
        'CATCH_UP_TOO_OLD',
        `at most ${CATCH_UP_DEPTH} actions back: read the others from history`
      );
    client.isCatchingUp = true;
    try {
      const found = new Map<number, Row>();
      for (const { channel, about, filters } of asked) {
        const subject = subjectOf(channel, about);
        if (!subject) continue;
        for (const row of await readRows(client.read, 'history', subject)) {
          const index = Number(row['action_index']);
          if (index > since && isWanted(filters, row['action'])) found.set(index, row);
        }
      }
      const missed = [...found.keys()].sort((a, b) => a - b);
      for (const index of missed.slice(0, CATCH_UP_EVENTS))
        this.#send(client, 'NEW_ACTION', actionOf(found.get(index)!), { catch_up: true });
      const sent = Math.min(missed.length, CATCH_UP_EVENTS);
      const done = {
        events_replayed: sent,
        latest_action_index: String(latest),
        truncated: missed.length >= CATCH_UP_EVENTS
      };
      this.#send(client, 'CATCH_UP_COMPLETE', done, withId(id));
    } finally {
      client.isCatchingUp = false;
    }
  }

  /** How what a channel is about stands now. */
  async #sendState(client: Client, { channel, about, filters }: Subscription, type: string): Promise<void> {
    const state = await this.#stateOf(client.read, channel, about);
    if (state) this.#send(client, type, project({ channel, ...about, ...state }, filters.fields));
  }

  async #stateOf(read: Read, channel: string, about: Readonly<Record<string, string>>): Promise<object | null> {
    const newest = await newestOf(read);
    const last = { last_action_index: String(newest?.['action_index'] ?? 0) };
    const height = String(this.#coin.report()?.height ?? 0);
    if (channel === 'blocks') return { latest_block_index: height, block_index: height };
    if (channel === 'network') return { block_height: height, total_actions: last.last_action_index };
    if (channel === 'address')
      return { balances: await readRows(read, 'balances', { query: about['address']!, order: 'asc' }), ...last };
    if (channel === 'token') return last;
    if (channel === 'market') return await readRecord(read, 'market', about);
    if (channel === 'dispenser') return await readRecord(read, 'action', {}, about['action_index']);
    return channel === 'bet_feed' ? {} : null;
  }

  async #look(): Promise<void> {
    const mark = this.#coin.report()?.mark ?? null;
    // Nothing is known where the one who listened left while its blocks were read.
    const isCurrent = mark === this.#mark && this.#known.length > 0;
    if (this.#isLooking || this.#clients.size === 0 || mark === null || isCurrent) return;
    this.#isLooking = true;
    try {
      const isFirst = this.#known.length === 0;
      const advance = await this.#advances.read(this.#known, isFirst ? [] : this.#subjects());
      if (advance) {
        const required = isFirst ? [] : await this.#readRequired(advance);
        const standing = this.#known.filter(({ block_index }) => block_index <= (advance.fork ?? block_index));
        this.#known = [...advance.blocks].reverse().concat(standing).slice(0, KEPT_BLOCKS);
        const tell = (client: Client) => this.#tell(client, advance, required);
        if (!isFirst) await Promise.all([...this.#clients.values()].map(tell));
      }
      this.#mark = mark;
    } catch (caught) {
      // It looks again; whether the database answers is in the report.
      this.#log.debug({ err: PlatformError.from(caught) }, 'new blocks cannot be read');
    } finally {
      this.#isLooking = false;
    }
  }

  /** Reads what is to be paid since this advance, where a client follows that. */
  async #readRequired({ actions }: Advance): Promise<Frames> {
    const isFollowed = this.#followers('actions').some(([, { filters }]) => isWanted(filters, REQUIRED));
    if (!isFollowed) return [];
    const rows = [...actions].find(([subject]) => nameOf(subject) === nameOf(EVERYTHING))?.[1].rows ?? [];
    return await readRequired(this.#coin, rows).catch((caught: unknown) => {
      this.#log.debug({ err: PlatformError.from(caught) }, 'what is to be paid cannot be read');
      return [];
    });
  }

  #followers(channel: string): [Client, Subscription][] {
    return [...this.#clients.values()].flatMap((client) =>
      [...client.subscriptions.values()]
        .filter((subscription) => subscription.channel === channel)
        .map((subscription): [Client, Subscription] => [client, subscription])
    );
  }

  /** Tells what came into the mempool and what left it. */
  async #watch(): Promise<void> {
    if (this.#followers('mempool').length === 0) return this.#mempool.forget();
    if (this.#isWatching) return;
    this.#isWatching = true;
    try {
      const changes = await this.#mempool.look(this.#coin);
      for (const [client, subscription] of this.#followers('mempool')) {
        const wanted = changes.filter(({ waiting }) => isWanted(subscription.filters, waiting.action));
        for (const { type, waiting } of wanted) {
          const { tx_hash, source, action, data } = waiting;
          const told = type === 'MEMPOOL_REMOVED' ? { tx_hash } : { tx_hash, source, action, data };
          this.#send(client, type, project(told, subscription.filters.fields));
        }
        if (wanted.length > 0) this.#endOnce(client, subscription);
      }
    } catch (caught) {
      this.#log.debug({ err: PlatformError.from(caught) }, 'the mempool cannot be read');
    } finally {
      this.#isWatching = false;
    }
  }

  /** What is read of each advance, each once. */
  #subjects(): Subject[] {
    const all = [...this.#clients.values()].flatMap(({ subscriptions }) => subjectsOf(subscriptions.values()));
    const subjects = new Map(all.map((subject) => [nameOf(subject), subject]));
    return [...subjects.values()];
  }

  /** A client whose reads are refused gets no more of this advance; the others do. */
  async #tell(client: Client, advance: Advance, required: Frames): Promise<void> {
    await this.#tellAll(client, advance, required).catch((caught: unknown) =>
      this.#log.debug({ err: PlatformError.from(caught) }, 'a client gets less of what is new')
    );
  }

  async #tellAll(client: Client, advance: Advance, required: Frames): Promise<void> {
    const found = new Map([...advance.actions].map(([subject, actions]) => [nameOf(subject), actions]));
    for (const subscription of [...client.subscriptions.values()]) {
      const { channel, about, filters } = subscription;
      const subject = subjectOf(channel, about);
      const actions = (subject && found.get(nameOf(subject))) ?? NO_ACTIONS;
      const isTold =
        channel === 'actions'
          ? this.#tellActions(client, filters, [...actions.rows.flatMap(framesOf), ...required])
          : await this.#tellChannel(client, subscription, advance, {
              ...actions,
              rows: actions.rows.filter((row) => isWanted(filters, row['action']))
            });
      if (isTold) this.#endOnce(client, subscription);
    }
  }

  /** Ends a subscription that wanted to be told once. */
  #endOnce(client: Client, { channel, about, filters, key }: Subscription): void {
    if (!filters.once) return;
    client.subscriptions.delete(key);
    this.#send(client, 'UNSUBSCRIBED', { channel, ...about, reason: 'once' });
  }

  /** @returns whether it was told anything */
  #tellActions(client: Client, filters: Subscription['filters'], frames: Frames): boolean {
    const wanted = frames.filter(({ name }) => isWanted(filters, name));
    for (const { type, data } of wanted) this.#send(client, type, project(data, filters.fields));
    return wanted.length > 0;
  }

  async #tellChannel(
    client: Client,
    subscription: Subscription,
    { blocks }: Advance,
    { rows, isCut }: SubjectActions
  ): Promise<boolean> {
    const { channel, filters } = subscription;
    const send = (type: string, data: object) => this.#send(client, type, project(data, filters.fields));
    if (channel === 'blocks') for (const block of blocks) send('NEW_BLOCK', blockOf(block));
    else if (channel === 'network') await this.#sendState(client, subscription, 'NETWORK_STATS');
    else if (rows.length === 0 && !isCut && channel in OF_ACTIONS) return false;
    else if (channel in UPDATES) await this.#sendState(client, subscription, UPDATES[channel]!);
    else return false;
    return blocks.length > 0;
  }

  /** Ends connections that do not answer, and those that follow nothing. */
  #keepUp(): void {
    for (const { subscriber, subscriptions, since } of this.#clients.values()) {
      subscriber.ping();
      if (subscriptions.size === 0 && performance.now() - since > IDLE_MS)
        subscriber.socket.close(CLOSE.idle, 'no subscriptions');
    }
  }
}

async function readRows(read: Read, method: string, asked: Partial<Question>): Promise<readonly Row[]> {
  const { body } = await read({
    ...{ method, parameters: {}, page: 1, limit: 100, order: 'desc', format: 'json' },
    ...asked
  });
  return (JSON.parse(body) as { data: Row[] }).data;
}

/** The newest action; null: there is none. */
const newestOf = async (read: Read): Promise<Row | null> => (await readRows(read, 'actions', { limit: 1 }))[0] ?? null;

async function readRecord(
  read: Read,
  method: string,
  parameters: Readonly<Record<string, string>>,
  query?: string
): Promise<object> {
  const asked: Question = {
    ...{
      method,
      parameters,
      page: 1,
      limit: 1,
      order: 'desc',
      format: 'json',
      ...(query === undefined ? {} : { query })
    }
  };
  const { runtime: _, state, ...record } = JSON.parse((await read(asked)).body) as Row & { state?: object };
  const stood = state as { give_remaining?: string; status?: string } | undefined;
  return stood ? { ...record, ...stood, escrow_remaining: stood.give_remaining } : record;
}

/** The frames that tell how something stands after a block. */
const UPDATES: Readonly<Record<string, string>> = {
  address: 'ADDRESS_UPDATE',
  token: 'TOKEN_UPDATE',
  dispenser: 'DISPENSER_UPDATE',
  market: 'MARKET_UPDATE'
};

const withId = (id: unknown): object => (id === undefined ? {} : { id });

/** Returns the subjects of some subscriptions. */
const subjectsOf = (subscriptions: Iterable<Subscription>): Subject[] =>
  [...subscriptions].flatMap(({ channel, about }) => subjectOf(channel, about) ?? []);

/** Whose actions a channel hangs on; null: on blocks alone. */
function subjectOf(channel: string, about: Readonly<Record<string, string>>): Subject | null {
  if (channel === 'actions') return EVERYTHING;
  const type = OF_ACTIONS[channel];
  return type ? { type, query: (about['address'] ?? about['tick'])! } : null;
}

const isWanted = ({ types }: Subscription['filters'], name: unknown): boolean =>
  types === null || types.includes(String(name));

const project = (data: object, fields: readonly string[] | null): object =>
  fields === null ? data : Object.fromEntries(Object.entries(data).filter(([name]) => fields.includes(name)));

function blockOf({ block_index, block_hash, timestamp, actions }: Row) {
  const counts = Object.values((actions ?? {}) as Readonly<Record<string, string>>).map(Number);
  const count = counts.reduce((sum, each) => sum + each, 0);
  return {
    ...{ block_index: String(block_index), block_hash: block_hash ?? null, block_time: Number(timestamp) },
    ...{ tx_count: count, action_count: count }
  };
}

/** A message of a client. @throws {ChannelFault} RATE_LIMITED, INVALID_PARAMS, INVALID_ACTION */
function readMessage(client: Client, data: Buffer): Readonly<Record<string, unknown>> {
  const second = Math.floor(performance.now() / 1_000);
  client.messages = client.second === second ? client.messages + 1 : 1;
  client.second = second;
  if (client.messages > LIMITS.messagesPerS)
    throw new ChannelFault('RATE_LIMITED', `at most ${LIMITS.messagesPerS} messages a second`);
  if (data.length > LIMITS.messageBytes)
    throw new ChannelFault('INVALID_PARAMS', `a message has at most ${LIMITS.messageBytes} bytes`);
  try {
    const message: unknown = JSON.parse(String(data));
    if (typeof message === 'object' && message !== null && !Array.isArray(message))
      return message as Readonly<Record<string, unknown>>;
  } catch {
    // It is told below.
  }
  throw new ChannelFault('INVALID_ACTION', 'a message is a JSON object with an action');
}
