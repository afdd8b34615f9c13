import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { FanOut } from '../sync/fan-out/fan-out.ts';
import type { Nats, NatsLink } from '../sync/relay/link.ts';
import { streamName, subjectOf } from '../sync/relay/stream.ts';
import { type BlockHashes, type DatabaseId, databaseKey } from '../wire/data/database.ts';
import { broadcastOf } from './broadcast.ts';
import { type Position, PositionReader } from './position.ts';
import { checkReader } from './rights.ts';
import { readMessage, type StoredMessage, type StreamMessage } from './stream-message.ts';

/** Messages of the past that are read at the start, for subscribers that come back. */
const PAST_MESSAGES = 2_000;
/** Time between two looks whether the stream has messages that do not come, in milliseconds. */
const LOOK_MS = 5_000;
const PAUSE_MS = 1_000;
/** A feed that passes nothing on for less is being connected anew. */
const STOPPED_MS = 10_000;
const NOTHING_HERE = 'the stream in NATS holds no block: the next one is waited for';

export interface FeedOptions {
  readonly id: DatabaseId;
  readonly link: NatsLink;
  readonly fanOut: Pick<FanOut, 'broadcast' | 'setPoint' | 'breakOff'>;
  /** Called before a message by which blocks from this height on are no more; absent: nobody asks. */
  readonly onFork?: (id: DatabaseId, fork: number) => void;
  readonly log: Logger;
}

/**
 * Passes the messages of one stream on to the subscribers: each once and in order, from one connection to NATS to the next.
 *
 * An invalid message stops it with an error by name; it reads that message again each second. Where messages are missing, its
 * subscribers are cut off: they catch up by snapshot.
 */
export class EdgeFeed {
  readonly id: DatabaseId;
  readonly #options: FeedOptions;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #reader: PositionReader;
  /** Sequence of the next message; undefined before the first. */
  #next: number | undefined;
  /** Time at which the stream was created: another one of its name counts anew. */
  #created: string | undefined;
  #reason: string | null = 'nothing was read yet';
  /** `performance.now()` when it was last seen to pass on. */
  #passedAt = performance.now();
  /** A message is being passed on. */
  #isTaking = false;
  #hasCaughtUp = false;

  constructor(options: FeedOptions) {
    this.id = options.id;
    this.#options = options;
    this.#log = options.log.child({ database: databaseKey(options.id) });
    this.#reader = new PositionReader(options.id);
    this.#running = this.#run();
  }

  /** Null before the messages of the past were read. */
  get position(): Position | null {
    return this.#hasCaughtUp ? this.#reader.position : null;
  }

  /** Returns whether a block is not known to be of another chain than the one that is passed on. */
  mayBe(height: number, hashes: BlockHashes): boolean {
    return this.#reader.mayBe(height, hashes);
  }

  /** Reason why it passes nothing on; null while it does. */
  get reason(): string | null {
    return this.#options.link.reason ?? this.#reason;
  }

  /** Returns the seconds for which it has had a reason to pass nothing on, where that is long; else 0. Ask often. */
  stoppedS(): number {
    const now = performance.now();
    if (this.reason === null) this.#passedAt = now;
    const elapsedMs = now - this.#passedAt;
    return elapsedMs < STOPPED_MS ? 0 : Math.ceil(elapsedMs / 1_000);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#follow(await this.#options.link.connected(signal));
      } catch (caught) {
        if (signal.aborted) return;
        const { message } = PlatformError.from(caught);
        if (this.#reason !== message) this.#log.error({ err: caught }, `the stream is not passed on: ${message}`);
        this.#reason = message;
        await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
      }
    }
  }

  /** Passes on until the connection is lost. @throws {PlatformError} STREAM_* */
  async #follow(nats: Nats): Promise<void> {
    const { id } = this.#options;
    const last = await this.#findPlace(nats);
    await checkReader(nats, id);
    const lost = AbortSignal.any([this.#stopping.signal, nats.lost]);
    const consumer = await nats.messages.consumers.get(streamName(id), {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: this.#next!
    });
    // Without it, one that was deleted and created anew would be waited for until it has as many messages as before.
    const messages = await consumer.consume({ abort_on_missing_resource: true });
    const stop = () => void messages.close();
    if (lost.aborted) return stop(); // its end comes to those who read it, and nobody does
    lost.addEventListener('abort', stop, { once: true });
    const ended = new AbortController();
    void this.#watch(nats, AbortSignal.any([lost, ended.signal]), stop);
    try {
      this.#caughtUp(last);
      for await (const message of messages) {
        this.#isTaking = true;
        await this.#take(nats, message, lost);
        this.#isTaking = false;
        this.#caughtUp(last);
      }
    } finally {
      this.#isTaking = false;
      ended.abort();
      lost.removeEventListener('abort', stop);
      stop();
    }
  }

  /** Lets the edge begin anew where the stream has messages that do not come: a cluster may lose a consumer without a word. */
  async #watch(nats: Nats, signal: AbortSignal, stop: () => void): Promise<void> {
    for (let before: number | undefined; !signal.aborted; before = this.#next) {
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
      const info = await nats.streams.streams.info(streamName(this.#options.id)).catch(() => null);
      if (signal.aborted || !info || this.#isTaking) continue; // a long message takes its time
      if (this.#next !== before || info.state.last_seq < before!) continue;
      this.#log.warn({ code: 'STREAM_SILENT' }, `message ${before} of the stream does not come: it is asked for anew`);
      return stop();
    }
  }

  /** Finds where to begin, or to continue. @returns the last sequence of the stream */
  async #findPlace(nats: Nats): Promise<number> {
    const { id } = this.#options;
    const { config, state, created } = await nats.streams.streams.info(streamName(id));
    if (config.subjects.join() !== subjectOf(id))
      throw new PlatformError('STREAM_FOREIGN', {
        reason: `the stream ${streamName(id)} carries ${config.subjects.join()}, and not ${subjectOf(id)}`
      });
    const oldest = Math.max(state.first_seq, state.last_seq - PAST_MESSAGES + 1, 1);
    const next = this.#next;
    const isOther = created !== this.#created || (next ?? 1) < state.first_seq || (next ?? 1) > state.last_seq + 1;
    this.#created = created;
    if (next !== undefined && isOther) {
      this.#cutOff(
        `the stream of ${created} goes from message ${state.first_seq} to ${state.last_seq}, and ${next} was to be the next`
      );
      this.#next = oldest;
    }
    this.#next ??= oldest;
    return state.last_seq;
  }

  #caughtUp(last: number): void {
    if (this.#next! <= last) return;
    this.#hasCaughtUp = true;
    this.#reason = this.#reader.position ? null : NOTHING_HERE;
  }

  async #take(nats: Nats, stored: StoredMessage, lost: AbortSignal): Promise<void> {
    const { id, fanOut } = this.#options;
    if (stored.seq > this.#next!) this.#cutOff(`the stream has no message ${this.#next} and goes on at ${stored.seq}`);
    if (!stored.headers?.has('Platform-Type')) {
      // No publisher wrote it: whoever may read can have NATS copy messages of other streams here.
      this.#log.warn({ code: 'STREAM_FOREIGN' }, `message ${stored.seq} of the stream is passed over: it has no type`);
      this.#next = stored.seq + 1;
      return;
    }
    const message = await this.#read(nats, stored, lost);
    if (message === null) return;
    const isWithoutBlock =
      this.#reader.position === null && (message.type === 'amendment' || message.type === 'settled');
    if (!isWithoutBlock) {
      const misfit = this.#reader.misfit(message);
      if (misfit !== null) this.#cutOff(misfit);
      const position = this.#reader.take(message);
      if (message.type === 'reorg' || message.type === 'break')
        this.#options.onFork?.(id, message.type === 'reorg' ? message.height : 0);
      if (message.type === 'break') fanOut.breakOff(id, 'the stream continues elsewhere: catch up by snapshot');
      const broadcast = broadcastOf(id, message, position);
      if (broadcast) await fanOut.broadcast(id, [broadcast], pointOf(position));
      else fanOut.setPoint(id, pointOf(position));
    }
    this.#next = stored.seq + 1;
  }

  /** Returns null for a message of the past whose body is gone: it outlived it, and the edge begins behind it. */
  async #read(nats: Nats, stored: StoredMessage, lost: AbortSignal): Promise<StreamMessage | null> {
    try {
      return await readMessage(nats, this.id, stored, lost);
    } catch (caught) {
      const isGone = hasCode(caught, 'STREAM_BODY_DIFFERS') && caught.detail['isGone'] === true;
      if (!isGone || this.#hasCaughtUp) throw caught;
      this.#cutOff(caught.message);
      this.#next = stored.seq + 1;
      return null;
    }
  }

  /** Cuts the subscribers off, because messages are missing: nobody goes on as if there were none. */
  #cutOff(why: string): void {
    const { id, fanOut, log } = this.#options;
    log.warn({ database: databaseKey(id), code: 'STREAM_GAP' }, `${why}: subscribers catch up`);
    fanOut.breakOff(id, 'the stream has a gap: catch up by snapshot');
    this.#reader = new PositionReader(id);
  }
}

/** Returns the point that a new subscriber's status tells. */
function pointOf({ height, blockTime, hashes, learned, lives }: Position): Parameters<FanOut['setPoint']>[1] {
  return { height, blockTime, hashes, ...(learned && { learned }), ...(lives && { lives }) };
}
