import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Logger } from '../../log.ts';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';
import { type StreamLimits, StreamSubscriber } from '../../service/stream/stream-subscriber.ts';
import type { HubDatabase } from '../store/database.ts';
import { type RemovedRows, STREAMED_TABLES, type StreamedTable } from '../store/prices.ts';

/** Of the rows that messages and snapshots carry. */
export const SCHEMA_VERSION = 1;
/** Rows that one snapshot, or one resumption, has at most. */
export const MAX_ROWS = 10_000;

const WATERMARK_INTERVAL_MS = 10_000;
const PING_INTERVAL_MS = 30_000;
const MAX_SUBSCRIBERS = 1_000;
/** Subscriptions of one address. */
export const MAX_PER_ADDRESS = 100;
/** Rows that are sent in one go. */
const SLICE = 25;
/** How long the next ones wait for the slowest reader: 200 ms at most. */
const WAIT_MS = 5;
const MAX_WAITS = 40;
const SERVICE_RESTART = 1012;
const TRY_LATER = 1013;
const POLICY_VIOLATION = 1008;

/** After which id of each table a subscriber goes on; absent: with what comes. */
export type ResumeIds = Readonly<Partial<Record<StreamedTable, number>>>;

/** What a new connection brings. */
export interface StreamConnection {
  /** Under which it is counted. */
  readonly address: string;
  readonly resume: ResumeIds;
  readonly sendBuffer: () => SendBuffer;
}

/**
 * The rows of both price tables, as they come, to all who subscribed. Rows are read back by their ids once a push is
 * durable, so that everyone gets each row once and in order, whichever process of several on one database wrote it.
 */
export class PriceStream {
  readonly #database: HubDatabase;
  readonly #log: Logger;
  readonly #limits: StreamLimits;
  readonly #subscribers = new Set<StreamSubscriber>();
  /** The last id that was sent; undefined before anyone subscribed. */
  readonly #sent = new Map<StreamedTable, number>();
  /** What pushes took the place of, and subscribers were not told yet. */
  #removed: RemovedRows[] = [];
  /** What is sent goes one after the other. */
  #turn: Promise<void> = Promise.resolve();
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

  /** Sends what a push changed. @param removed rows that it took the place of */
  changed(table: StreamedTable, removed: readonly RemovedRows[]): void {
    this.#removed.push(...removed);
    this.#enqueue(async () => {
      if (this.#subscribers.size === 0) this.#removed = [];
      else await this.#advance(table);
    });
  }

  /** Takes a connection. It gets `ready`, the rows after its resume ids, then each row as it comes. */
  subscribe(socket: WebSocket, { address, resume, sendBuffer }: StreamConnection): void {
    const others = [...this.#subscribers].filter((subscriber) => subscriber.address === address);
    if (this.#subscribers.size >= MAX_SUBSCRIBERS) {
      socket.close(TRY_LATER, 'too many subscribers');
      return;
    }
    if (others.length >= MAX_PER_ADDRESS) {
      socket.close(POLICY_VIOLATION, 'too many from this address');
      return;
    }
    const subscriber = new StreamSubscriber(socket, address, sendBuffer, this.#limits);
    this.#subscribers.add(subscriber);
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#subscribers.delete(subscriber));
    this.#enqueue(() => this.#begin(subscriber, resume));
  }

  /** Ends every subscription. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.#subscribers) socket.close(SERVICE_RESTART, 'the hub is going down; reconnect');
  }

  async #begin(subscriber: StreamSubscriber, resume: ResumeIds): Promise<void> {
    try {
      await this.#catchUp(subscriber, resume);
    } catch (caught) {
      subscriber.drop('the database does not answer; reconnect');
      throw caught;
    }
  }

  async #catchUp(subscriber: StreamSubscriber, resume: ResumeIds): Promise<void> {
    // What came while nobody listened is in the snapshots, and not new.
    if (![...this.#subscribers].some(({ isLive }) => isLive)) this.#sent.clear();
    for (const table of STREAMED_TABLES) await this.#advance(table);
    const maxIds = Object.fromEntries(this.#sent);
    const ready = { max_ids: maxIds, watermark: nowS(), watermark_interval_ms: WATERMARK_INTERVAL_MS };
    subscriber.send(JSON.stringify({ type: 'ready', ...ready }));
    for (const table of STREAMED_TABLES) await this.#resend(subscriber, table, resume[table]);
    subscriber.begin();
  }

  async #resend(subscriber: StreamSubscriber, table: StreamedTable, since: number | undefined): Promise<void> {
    if (since === undefined) return;
    const rows = await this.#database.read('pageOf', table, since, MAX_ROWS + 1);
    if (rows.length > MAX_ROWS) subscriber.drop(`more than ${MAX_ROWS} rows of ${table}: take a snapshot first`);
    const sent = this.#sent.get(table) ?? 0;
    for (const row of rows) if (row.id <= sent) subscriber.send(rowMessage(table, row));
  }

  /** Sends the rows of a table that nobody was sent yet. Before anyone subscribed there are none to send. */
  async #advance(table: StreamedTable): Promise<void> {
    const sent = this.#sent.get(table);
    if (sent === undefined) {
      this.#sent.set(table, await this.#database.read('highestId', table));
      return;
    }
    const rows = await this.#database.read('pageOf', table, sent, MAX_ROWS);
    this.#tellRemoved();
    for (const [at, row] of rows.entries()) {
      if (at % SLICE === SLICE - 1) await this.#drain();
      this.#sent.set(table, row.id);
      this.#broadcastText(rowMessage(table, row));
    }
  }

  /** Before any row that was read after them: a look for an earlier push may find the rows of a later one. */
  #tellRemoved(): void {
    const removed = this.#removed;
    this.#removed = [];
    for (const rows of removed) this.#broadcast({ type: 'row:deleted', ...rows });
  }

  /** Lets readers take what they were sent: a burst must not look as though they had stopped. */
  async #drain(): Promise<void> {
    const isBusy = () => [...this.#subscribers].some((subscriber) => subscriber.isLive && subscriber.isBusy);
    for (let waits = 0; waits < MAX_WAITS && isBusy(); waits++) await sleep(WAIT_MS);
  }

  #tick(): void {
    this.#enqueue(async () => {
      if (this.#subscribers.size === 0) return;
      for (const table of STREAMED_TABLES) await this.#advance(table); // another process may have written some
      this.#broadcast({ type: 'watermark', ts: nowS() });
    });
  }

  #broadcast(message: object): void {
    this.#broadcastText(JSON.stringify(message));
  }

  /** Encoded once: everyone gets the same bytes. */
  #broadcastText(text: string): void {
    const bytes = Buffer.from(text);
    for (const subscriber of this.#subscribers) if (subscriber.isLive) subscriber.send(bytes);
  }

  /** What fails is tried again with the next push or tick. */
  #enqueue(work: () => Promise<void>): void {
    this.#turn = this.#turn.then(work).catch((caught) => {
      this.#log.warn({ err: caught }, 'rows of prices could not be read for subscribers');
    });
  }
}

const nowS = () => Math.floor(Date.now() / 1000);

const rowMessage = (table: StreamedTable, row: object) =>
  JSON.stringify({ type: 'row:inserted', table, row, schema_version: SCHEMA_VERSION });
