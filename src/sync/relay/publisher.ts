import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../log.ts';
import type { ResumePoint } from '../../replication/source/reading/resume-point.ts';
import type { Broadcast } from '../../wire/data/broadcast.ts';
import { type DatabaseId, databaseKey, sameBlock } from '../../wire/data/database.ts';
import { Lease } from './lease.ts';
import type { Nats, NatsLink } from './link.ts';
import { lifeOf, markOf, pointRecord, recordsOf } from './record.ts';
import { DamagedSpool, Spool } from './spool.ts';
import { DatabaseStream, type StreamLimits, streamName } from './stream.ts';
import { findCommonEnd } from './take-over.ts';

/** Messages that are sent and not acknowledged. */
const MAX_IN_FLIGHT = 64;
/** Bytes of these, at most: a body is held until it is acknowledged. One more body may join them. */
const MAX_IN_FLIGHT_BYTES = 32 * 2 ** 20;
/** Records that a spool may hold for a stream that is away. */
const MAX_RECORDS = 100_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** A source that has not run for so long leaves the stream to other servers: one that starts again does not. */
const UNFED_MS = 10_000;
/** Pauses of a server that stands by: between two looks at the stream, and at its lease. */
const STANDBY_LOOK_MS = 1_000;
const LEASE_LOOK_MS = 50;

/** Position of the next message that is published, and the sequence of the stream's last. */
interface Place {
  readonly next: number;
  readonly sequence: number;
}

export interface PublisherOptions {
  readonly id: DatabaseId;
  readonly link: NatsLink;
  readonly limits: StreamLimits;
  /** Directory of the spools of all databases. */
  readonly directory: string;
  /** Bytes that wait at most; with more, the stream continues with a `break`. */
  readonly maxBacklogBytes: number;
  /** Whether the source of the database runs; absent: it always does. */
  readonly isFed?: (id: DatabaseId) => boolean;
  /** After so many milliseconds without its source, another server may write the stream; default: UNFED_MS. */
  readonly unfedMs?: number;
  /** Awaited before a message is published by which blocks from this height on are no more; absent: nobody needs to know. */
  readonly onFork?: (nats: Nats, id: DatabaseId, fork: number) => Promise<void>;
  readonly log: Logger;
}

/** State of a database's stream. */
export interface PublisherView {
  /** `standby`: another server writes the stream; this one does when the other's lease ends. */
  readonly state: 'away' | 'publishing' | 'standby';
  /** Null while it publishes. */
  readonly reason: string | null;
  /** Messages and bytes that were broadcast here and are not known to be in the stream. */
  readonly waiting: number;
  readonly waitingBytes: number;
}

/**
 * Brings what one source broadcasts into its stream: in order, without a repeat, and without a gap that is not told by a `break`.
 *
 * A broadcast message waits in a spool until the stream has it, also while NATS is away and over a restart. Of several servers the one
 * with the lease publishes. Each publish names the message before it, so that one that lost its lease unnoticed cannot fork the stream.
 */
export class DatabasePublisher {
  readonly #options: PublisherOptions;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #changes = new EventTarget();
  readonly #running: Promise<void>;
  #spool: Spool | undefined;
  #lease: Lease | undefined;
  #spooling: Promise<unknown> = Promise.resolve();
  #point: ResumePoint | undefined;
  /** The source's start that the spool told of last; undefined: this process has spooled nothing. */
  #life: string | undefined;
  /** Position of this process's last `break`: what follows it is of this process alone. */
  #breakAt: number | undefined;
  /** Whether this process has written the stream. */
  #hasBegun = false;
  #state: PublisherView['state'] = 'away';
  #reason: string | null = 'nothing was published yet';
  /** `performance.now()` when its source was last seen to run. */
  #fedAt = 0;
  /** Reason why what was broadcast last is not in the spool; null: it is. */
  #fault: string | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#log = options.log.child({ database: databaseKey(options.id), stream: streamName(options.id) });
    this.#running = this.#run();
  }

  /** The last block that was broadcast; -1 before the first. */
  get height(): number {
    return this.#point?.height ?? -1;
  }

  get id(): DatabaseId {
    return this.#options.id;
  }

  get view(): PublisherView {
    const { records = 0, bytes = 0 } = this.#spool?.waiting ?? {};
    const reason = this.#state === 'away' ? (this.#options.link.reason ?? this.#reason) : this.#reason;
    return { state: this.#state, reason: this.#fault ?? reason, waiting: records, waitingBytes: bytes };
  }

  /**
   * Takes what was broadcast between two resume points; none: the point alone changed. Calls are served in order. Nothing is thrown: what
   * could not be kept is told by a `break`.
   */
  async accept(messages: readonly Broadcast[], before: ResumePoint | null, after: ResumePoint): Promise<void> {
    try {
      await this.#change(async (spool) => {
        this.#point = after;
        await this.#append(spool, messages, before ?? after, after);
      });
      this.#fault = null;
    } catch (caught) {
      this.#fault = `the spool cannot be written: ${textOf(caught)}`;
      this.#log.error({ err: caught }, this.#fault);
    }
  }

  /** Lets another server write the stream from now on. */
  async release(): Promise<void> {
    await this.#lease?.close();
  }

  /** Ends it; what waits stays in the spool. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#changes.dispatchEvent(new Event('change'));
    await this.#running;
    await this.#lease?.close();
    await this.#spooling.catch(() => undefined);
    await this.#spool?.close();
  }

  async #append(spool: Spool, messages: readonly Broadcast[], before: ResumePoint, after: ResumePoint): Promise<void> {
    const { id, maxBacklogBytes } = this.#options;
    const isMoved =
      messages.length === 0 && !(before.height === after.height && sameBlock(before.hashes, after.hashes));
    if (spool.last?.mark !== markOf(before) || isMoved) {
      this.#log.info({ height: before.height }, 'the stream does not continue where it ended: subscribers catch up');
      await this.#break(spool, isMoved ? after : before);
    }
    const isOtherLife = lifeOf(after) !== this.#life;
    if (messages.length === 0 && spool.last?.mark === markOf(after) && !isOtherLife) return;
    const { records, bytes } = spool.waiting;
    if (records >= MAX_RECORDS || bytes >= maxBacklogBytes) {
      this.#log.warn(
        { records, bytes },
        'too many messages wait for NATS: they are dropped, and subscribers of the stream catch up; check NATS'
      );
      await this.#break(spool, after);
    } else {
      await spool.append(recordsOf(id, messages, before, after, isOtherLife));
      this.#life = lifeOf(after);
    }
  }

  /** Drops all that waits: the stream continues at this point. */
  async #break(spool: Spool, point: ResumePoint): Promise<void> {
    await spool.restart(pointRecord('break', this.#options.id, point));
    this.#life = lifeOf(point);
    this.#breakAt = spool.first;
  }

  /** Changes the spool; changes follow each other, from its opening on. */
  #change(work: (spool: Spool) => Promise<void>): Promise<void> {
    const { directory, id } = this.#options;
    const done = this.#spooling
      .then(async () => {
        this.#spool ??= await Spool.open(join(directory, databaseKey(id).replaceAll('/', '.')));
        await work(this.#spool);
      })
      .finally(() => this.#wake());
    this.#spooling = done.catch(() => undefined);
    return done;
  }

  #wake(): void {
    this.#changes.dispatchEvent(new Event('change'));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        while (!this.#point || !this.#spool) await once(this.#changes, 'change', { signal });
        const spool = this.#spool;
        const nats = await this.#options.link.connected(signal);
        const stream = await DatabaseStream.open(nats, this.#options.id, this.#options.limits);
        this.#lease ??= this.#openLease(spool.publisher);
        if (this.#lease.isHeld) await this.#follow(nats, stream, spool, this.#lease);
        else await this.#standBy(stream, spool, this.#lease);
        pauseMs = FIRST_PAUSE_MS;
      } catch (caught) {
        if (signal.aborted) return;
        if (this.#state === 'publishing') pauseMs = FIRST_PAUSE_MS;
        this.#fail(caught);
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      }
    }
  }

  #openLease(holder: string): Lease {
    const { id, link, limits } = this.#options;
    const key = `${id.dbType}.${id.chain}.${id.network}`;
    return new Lease({ link, key, holder, replicas: limits.replicas, mayHold: () => this.#isFed(), log: this.#log });
  }

  /** Returns whether its source runs, or did so lately. */
  #isFed(): boolean {
    const { id, isFed = () => true, unfedMs = UNFED_MS } = this.#options;
    const now = performance.now();
    if (isFed(id)) this.#fedAt = now;
    return now - this.#fedAt < unfedMs;
  }

  /** Waits for the lease, until the next look; what another server has published meanwhile waits no more. */
  async #standBy(stream: DatabaseStream, spool: Spool, lease: Lease): Promise<void> {
    const { signal } = this.#stopping;
    const { holder } = lease;
    [this.#state, this.#reason] =
      holder === null
        ? ['away', this.#isFed() ? 'nobody has the lease of the stream yet' : 'the source of the database does not run']
        : ['standby', `another server (${holder}) writes the stream`];
    if (holder !== null) {
      const position = spool.find((await stream.tail())?.map(({ sha256 }) => sha256) ?? []);
      if (position !== null) await this.#change((each) => each.forget(position));
    }
    const until = performance.now() + STANDBY_LOOK_MS;
    while (!lease.isHeld && performance.now() < until) await sleep(LEASE_LOOK_MS, undefined, { signal, ref: false });
  }

  /** Publishes until the connection or the lease is lost, or a message is refused, which it throws. */
  async #follow(nats: Nats, stream: DatabaseStream, spool: Spool, lease: Lease): Promise<void> {
    let { next, sequence } = await this.#findPlace(stream, spool, lease);
    const { signal } = this.#stopping;
    const inFlight = new Set<Promise<void>>();
    let bytes = 0;
    const failure: { cause?: unknown } = {};
    const ended = AbortSignal.any([nats.lost, lease.term]);
    this.#state = 'publishing';
    this.#reason = null;
    try {
      while (!signal.aborted && !ended.aborted && lease.isHeld && !('cause' in failure)) {
        next = Math.max(next, spool.first);
        if (next >= spool.next) {
          await this.#changed(ended, () => next >= spool.next);
          continue;
        }
        // Before the first message of an empty stream its sequence is not known.
        const isFull = inFlight.size >= MAX_IN_FLIGHT || bytes >= MAX_IN_FLIGHT_BYTES;
        if (isFull || (sequence === 0 && inFlight.size > 0)) {
          await Promise.race(inFlight);
          continue;
        }
        const [position, behind] = [next, sequence];
        const record = await this.#read(spool, position);
        if (record === null) continue;
        await stream.storeBody(record); // the messages behind it would overtake it
        const { type, height } = record.head;
        if (type === 'reorg' || type === 'break')
          await this.#options.onFork?.(nats, this.#options.id, type === 'reorg' ? height : 0);
        if (!lease.isHeld) break;
        bytes += record.head.size;
        const sent = stream
          .publish(record, spool.publisher, position, behind)
          .then(async (found) => {
            if (behind === 0) sequence = found;
            else if (found !== behind + 1)
              throw new Error(`message ${found} of the stream was expected to be ${behind + 1}`);
            this.#hasBegun = true;
            await this.#change((each) => each.forget(position));
          })
          .catch((caught) => {
            if (!('cause' in failure)) failure.cause = caught;
          })
          .finally(() => {
            inFlight.delete(sent);
            bytes -= record.head.size;
            this.#wake();
          });
        inFlight.add(sent);
        next += 1;
        if (behind !== 0) sequence += 1;
      }
    } finally {
      await Promise.all(inFlight);
    }
    if ('cause' in failure) throw failure.cause;
    if (nats.lost.aborted) throw new Error('the connection to NATS was lost');
  }

  /** Returns the position that follows what the stream has, and the stream's last sequence. */
  async #findPlace(stream: DatabaseStream, spool: Spool, lease: Lease): Promise<Place> {
    const last = await stream.last();
    const sequence = last?.sequence ?? 0;
    if (last?.publisher === spool.publisher && spool.mayHave(last)) {
      await this.#change((each) => each.forget(last.position));
      return { next: last.position + 1, sequence };
    }
    if (last === null && spool.beginsWithBreak) return { next: spool.first, sequence };
    const taken = last && last.publisher !== spool.publisher ? await this.#takeOver(stream, spool, lease) : null;
    if (taken) return taken;
    if (this.#hasBegun || this.#breakAt === undefined || this.#breakAt < spool.first)
      await this.#change((each) => this.#break(each, this.#point!));
    return { next: this.#breakAt!, sequence };
  }

  /** Continues the stream of another server; null where that is not possible without a gap. */
  async #takeOver(stream: DatabaseStream, spool: Spool, lease: Lease): Promise<Place | null> {
    const { id } = this.#options;
    this.#reason = 'this server takes the stream over from another one';
    const [point, mayWait] = [() => this.#point!, () => lease.isHeld];
    const end = await findCommonEnd({ id, stream, spool, point, mayWait, signal: this.#stopping.signal });
    if (end === null) return null;
    const { position } = end;
    const sequence = await stream.publish(end.point, spool.publisher, position, end.sequence, true);
    this.#hasBegun = true;
    await this.#change((each) => each.forget(position));
    this.#log.info({ height: end.point.head.height }, 'took the stream over from another server, without a gap');
    return { next: position + 1, sequence };
  }

  /** Returns null when it was dropped meanwhile, or is damaged: then a `break` stands for it and those behind it. */
  async #read(spool: Spool, position: number) {
    try {
      return await spool.read(position);
    } catch (caught) {
      if (caught instanceof DamagedSpool) {
        this.#log.error({ err: caught }, 'the spool is damaged: subscribers of the stream catch up');
        await this.#change((each) => this.#break(each, this.#point!));
      } else if (position >= spool.first) throw caught;
      return null;
    }
  }

  /** Waits for a change, unless what is waited for is over already. */
  async #changed(lost: AbortSignal, isWaiting: () => boolean): Promise<void> {
    const signal = AbortSignal.any([this.#stopping.signal, lost]);
    if (!isWaiting() || signal.aborted) return;
    await once(this.#changes, 'change', { signal }).catch(() => undefined); // the caller looks at both signals
  }

  #fail(caught: unknown): void {
    const reason = textOf(caught);
    if (this.#reason !== reason) this.#log.warn({ err: caught }, `the stream is behind: ${reason}`);
    this.#state = 'away';
    this.#reason = reason;
  }
}

function textOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}
