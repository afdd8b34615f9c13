import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { hasCode } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Cost } from '../../service/ingress/work-budget.ts';
import type { InTurn } from '../../service/rpc/calls.ts';
import { placeFor } from '../../service/stream/place-for.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { type StreamLimits, StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { HubDatabase } from '../store/database.ts';
import { type PriceChanges, STREAM_PARTS, type StreamMarks } from '../store/prices/price-changes.ts';
import { KEPT_REMOVALS, type RemovedRows } from '../store/prices/price-removals.ts';
import { EMPTY_TABLES, STREAMED_TABLES, type StreamedTable } from '../store/prices/streamed-tables.ts';
import { untilTaken } from './until-taken.ts';

/** Version of the rows that messages and snapshots carry. */
export const SCHEMA_VERSION = 4;
/** Rows that one snapshot, or one resumption, has at most. */
export const MAX_ROWS = 10_000;

const EMPTY_IDS = Object.fromEntries(EMPTY_TABLES.map((table) => [table, 0]));
const WATERMARK_INTERVAL_MS = 10_000;
const PING_INTERVAL_MS = 30_000;
const MAX_SUBSCRIBERS = 1_000;
/** Subscriptions of one address. */
export const MAX_PER_ADDRESS = 100;
/** Messages that are sent in one go. */
const SLICE = 25;
/** Rows of each table that are read at once for those that are live. */
const LIVE_AT_ONCE = 500;
/** Bytes of rows that a resumption reads at once: they stay in memory for each subscriber that resumes. */
const RESUMED_BYTES = 48 * 1024;
const RESUMED_FIRST = 2;
const RESUMED_MOST = 250;
/** Longest time that a resuming subscriber may take nothing of what it was sent. */
const RESUME_STALL_MS = 30_000;
/** Pause between looks at the slowest reader, for which the next messages wait: at most MAX_WAITS times, 200 ms. */
const WAIT_MS = 5;
const MAX_WAITS = 40;
const SERVICE_RESTART = 1012;
const TRY_LATER = 1013;
const POLICY_VIOLATION = 1008;
const BACKPRESSURE = 'Backpressure';
const TOO_MANY_READS = 'too many others read; reconnect later';
const NO_DATABASE = 'the database does not answer; reconnect';

/** Id of each part after which a subscriber goes on; absent: with what comes. */
export type ResumeIds = Partial<StreamMarks>;

/** Parameters of a new connection. */
interface StreamConnection {
  /** Address under which it is counted. */
  readonly address: string;
  readonly resume: ResumeIds;
  readonly sendBuffer: () => SendBuffer;
  /** Counts what was read for it to go on, and waits while its address owes too much. */
  readonly pay: (cost: Cost) => Promise<void>;
  /** Reads of it when it is the turn of its address. */
  readonly inTurn: InTurn;
}

/**
 * The rows of both price tables, and removals of them, as they come, to all who subscribed. They are read back by their ids
 * once a push is durable, so that everyone gets each once and in order, whichever process of several on one database wrote it.
 */
export class PriceStream {
  readonly #database: HubDatabase;
  readonly #log: Logger;
  readonly #limits: StreamLimits;
  readonly #subscribers = new Set<StreamSubscriber>();
  /** Marks of the live subscribers. */
  #sent: StreamMarks = { removals: 0, price_snapshots: 0, oracle_prices: 0 };
  /** Settles when everything before is sent: messages go one after the other. */
  #turn: Promise<void> = Promise.resolve();
  /** Subscribers that have come since others began: they begin together. */
  #arrived: (readonly [StreamSubscriber, StreamConnection])[] = [];
  readonly #timers: NodeJS.Timeout[];

  constructor(database: HubDatabase, log: Logger, limits: StreamLimits) {
    this.#database = database;
    this.#log = log;
    this.#limits = limits;
    this.#timers = [
      setInterval(() => this.#tick(), WATERMARK_INTERVAL_MS),
      setInterval(() => {
        for (const subscriber of this.#subscribers) subscriber.ping();
      }, PING_INTERVAL_MS)
    ];
  }

  /** Sends what a push changed. */
  changed(): void {
    this.#enqueue(() => this.#advance());
  }

  /** Takes a connection. It gets `ready`, what came after its resume ids, then each removal and row as it comes. */
  subscribe(socket: WebSocket, connection: StreamConnection): void {
    const { address, sendBuffer } = connection;
    const others = [...this.#subscribers].filter((subscriber) => subscriber.address === address);
    if (others.length >= MAX_PER_ADDRESS) {
      socket.close(POLICY_VIOLATION, 'too many from this address');
      return;
    }
    const place = placeFor(this.#subscribers, address, MAX_SUBSCRIBERS);
    if (place === null) {
      socket.close(TRY_LATER, 'too many subscribers');
      return;
    }
    if (place !== 'free') {
      this.#subscribers.delete(place);
      place.socket.close(TRY_LATER, 'too many subscribers');
    }
    const subscriber = new StreamSubscriber(socket, address, sendBuffer, this.#limits);
    this.#subscribers.add(subscriber);
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#subscribers.delete(subscriber));
    this.#arrived.push([subscriber, connection]);
    if (this.#arrived.length === 1) this.#enqueue(() => this.#beginAll());
  }

  /** Ends every subscription. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.#subscribers) socket.close(SERVICE_RESTART, 'the hub is going down; reconnect');
  }

  /**
   * Begins the streams of all who have come, by one read. What resuming reads is read later, in turns: nobody here
   * waits for one that has much to read.
   */
  async #beginAll(): Promise<void> {
    const arrived = this.#arrived;
    this.#arrived = [];
    try {
      await this.#advance();
    } catch (caught) {
      for (const [subscriber] of arrived) subscriber.drop(NO_DATABASE);
      throw caught;
    }
    for (const [subscriber, connection] of arrived) this.#begin(subscriber, connection);
  }

  #begin(subscriber: StreamSubscriber, connection: StreamConnection): void {
    const ready = {
      max_ids: { ...EMPTY_IDS, ...this.#sent },
      watermark: nowS(),
      watermark_interval_ms: WATERMARK_INTERVAL_MS
    };
    subscriber.send(JSON.stringify({ type: 'ready', ...ready }));
    void this.#resume(subscriber, connection, this.#sent).catch((caught) => {
      if (hasCode(caught, 'ANSWERS_WAITING')) return subscriber.socket.close(TRY_LATER, TOO_MANY_READS);
      subscriber.drop(NO_DATABASE);
      this.#warn(caught);
    });
  }

  /** Sends what came after the resume ids, until nothing is left of it; from then on the subscriber is live. */
  async #resume(
    subscriber: StreamSubscriber,
    { resume, sendBuffer, pay, inTurn }: StreamConnection,
    begun: StreamMarks
  ): Promise<void> {
    const tooFar = await this.#findTooFar(resume, inTurn);
    if (tooFar !== undefined) return subscriber.drop(tooFar);
    let at: StreamMarks = { ...begun, ...resume };
    let most = RESUMED_FIRST;
    while (isOpen(subscriber) && STREAM_PARTS.some((part) => at[part] < this.#sent[part])) {
      const end = this.#sent;
      const [from, count] = [at, most];
      const changes = await inTurn(() => this.#database.read('changesAfter', from, count, end.removals));
      const messages = messagesOf(changes, end);
      await pay({ rows: messages.length, bytes: bytesOf(messages) });
      if (!(await this.#sendSlowly(subscriber, sendBuffer, messages))) return;
      at = marksAfter(changes, most, at, end);
      most = rowsAtOnce(messages);
    }
    subscriber.begin();
  }

  /** @returns why a subscriber must take a snapshot first; undefined when it need not */
  async #findTooFar(resume: ResumeIds, inTurn: InTurn): Promise<string | undefined> {
    const { removals } = resume;
    if (removals !== undefined && (await inTurn(() => this.#database.read('lacksRemovals', removals))))
      return `more than ${KEPT_REMOVALS} removals: take a snapshot first`;
    for (const table of STREAMED_TABLES) {
      const since = resume[table];
      if (since !== undefined && (await inTurn(() => this.#database.read('hasMoreAfter', table, since, MAX_ROWS))))
        return `more than ${MAX_ROWS} rows of ${table}: take a snapshot first`;
    }
    return undefined;
  }

  /** Sends messages at the pace of the reader. @returns false when it was given up, or is gone */
  async #sendSlowly(
    subscriber: StreamSubscriber,
    sendBuffer: () => SendBuffer,
    messages: readonly string[]
  ): Promise<boolean> {
    for (const slice of slicesOf(messages, { count: this.#limits.sends, bytes: this.#limits.bytes / 2 })) {
      for (const message of slice) subscriber.send(message);
      const isTaken = await untilTaken(sendBuffer, { isOpen: () => isOpen(subscriber), stallMs: RESUME_STALL_MS });
      if (!isTaken) subscriber.drop(BACKPRESSURE);
      if (!isOpen(subscriber)) return false;
    }
    return true;
  }

  /** Sends what nobody was sent yet. While nobody is live there is nobody to send it to: it is in the snapshots. */
  async #advance(): Promise<void> {
    if (this.#subscribers.size === 0) return;
    if (!this.#hasLive) {
      const highest = await this.#database.read('highestMarks');
      if (!this.#hasLive) {
        this.#sent = highest;
        return;
      }
    }
    while (await this.#sendNext());
  }

  /** @returns whether there may be more */
  async #sendNext(): Promise<boolean> {
    const { removals, rows } = await this.#database.read('changesAfter', this.#sent, LIVE_AT_ONCE);
    const next = [
      ...removals.map((removed) => ({ part: 'removals', id: removed.id, message: removalMessage(removed) }) as const),
      ...STREAMED_TABLES.flatMap((part) =>
        rows[part].map((row) => ({ part, id: row.id, message: rowMessage(part, row) }))
      )
    ];
    for (const [at, { part, id, message }] of next.entries()) {
      if (at % SLICE === SLICE - 1) await this.#drain();
      this.#broadcastNext(part, id, message);
    }
    return [removals, ...STREAMED_TABLES.map((table) => rows[table])].some(({ length }) => length === LIVE_AT_ONCE);
  }

  get #hasLive(): boolean {
    return [...this.#subscribers].some(({ isLive }) => isLive);
  }

  #broadcastNext(part: keyof StreamMarks, id: number, message: string): void {
    this.#sent = { ...this.#sent, [part]: id };
    this.#broadcastText(message);
  }

  /** Lets readers take what they were sent: a burst must not look as though they had stopped. */
  async #drain(): Promise<void> {
    const isBusy = () => [...this.#subscribers].some((subscriber) => subscriber.isLive && subscriber.isBusy);
    for (let waits = 0; waits < MAX_WAITS && isBusy(); waits++) await sleep(WAIT_MS);
  }

  #tick(): void {
    this.#enqueue(async () => {
      await this.#advance(); // another process may have written some
      this.#broadcast({ type: 'watermark', ts: nowS() });
    });
  }

  #broadcast(message: object): void {
    this.#broadcastText(JSON.stringify(message));
  }

  /** Broadcasts a text, encoded once: everyone gets the same bytes. */
  #broadcastText(text: string): void {
    const bytes = Buffer.from(text);
    for (const subscriber of this.#subscribers) if (subscriber.isLive) subscriber.send(bytes);
  }

  /** Queues work; what fails is tried again with the next push or tick. */
  #enqueue(work: () => Promise<void>): void {
    this.#turn = this.#turn.then(work).catch((caught) => this.#warn(caught));
  }

  #warn(caught: unknown): void {
    this.#log.warn({ err: caught }, 'prices could not be read for subscribers; the next push tries again');
  }
}

const nowS = () => Math.floor(Date.now() / 1000);

const rowMessage = (table: StreamedTable, row: object) =>
  JSON.stringify({ type: 'row:inserted', table, row, schema_version: SCHEMA_VERSION });

const removalMessage = (removed: RemovedRows) =>
  JSON.stringify({ type: 'row:deleted', ...removed, schema_version: SCHEMA_VERSION });

const isOpen = ({ socket }: StreamSubscriber) => socket.readyState === socket.OPEN;

/** Yields messages that are sent together: few, and of so many bytes that one of them may be the last. */
function* slicesOf(messages: readonly string[], most: { readonly count: number; readonly bytes: number }) {
  let [slice, bytes]: [Buffer[], number] = [[], 0];
  for (const message of messages.map((text) => Buffer.from(text))) {
    slice.push(message);
    bytes += message.length;
    if (slice.length < Math.min(SLICE, most.count) && bytes < most.bytes) continue;
    yield slice;
    [slice, bytes] = [[], 0];
  }
  yield slice;
}

/** Returns the messages to a subscriber about changes up to some marks. */
const messagesOf = ({ removals, rows }: PriceChanges, end: StreamMarks): string[] => [
  ...removals.map(removalMessage),
  ...STREAMED_TABLES.flatMap((table) =>
    rows[table].filter(({ id }) => id <= end[table]).map((row) => rowMessage(table, row))
  )
];

const bytesOf = (messages: readonly string[]) => messages.reduce((sum, { length }) => sum + length, 0);

/** Returns the number of rows for the next page, by the size of the last ones. */
function rowsAtOnce(messages: readonly string[]): number {
  return Math.min(
    Math.max(Math.floor((RESUMED_BYTES * messages.length) / bytesOf(messages)) || RESUMED_FIRST, 1),
    RESUMED_MOST
  );
}

/** Returns a subscriber's marks after a page of changes: the page's end if the page is full, else the later marks. */
function marksAfter({ removals, rows }: PriceChanges, most: number, at: StreamMarks, end: StreamMarks): StreamMarks {
  const lastRemoval = removals.length === most ? removals.at(-1) : undefined;
  if (lastRemoval !== undefined) return { ...at, removals: lastRemoval.id };
  const markOf = (table: StreamedTable) => {
    const last = rows[table].length === most ? rows[table].at(-1) : undefined;
    return Math.min(last?.id ?? end[table], end[table]);
  };
  return {
    removals: end.removals,
    price_snapshots: markOf('price_snapshots'),
    oracle_prices: markOf('oracle_prices')
  };
}
