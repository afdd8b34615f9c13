import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import type { Logger } from '../../log.ts';
import type { Nats, NatsLink } from './link.ts';

/** The bucket of the leases of all databases of a cluster. */
const LEASES_BUCKET = 'PLATFORM_LEASES';
/** A lease that is not renewed ends after this, in milliseconds: its entry is gone then. */
const LEASE_MS = 6_000;
const RENEWAL_MS = 2_000;
/** The answer of a bucket whose entry has another revision. */
const WRONG_LAST_SEQUENCE = 10_071;
/** Pause between two looks of a server that waits for a lease. */
const LOOK_MS = 500;

interface LeaseOptions {
  readonly link: NatsLink;
  /** Name of the lease: `<dbType>.<chain>.<network>`. */
  readonly key: string;
  /** The same after a restart: a process takes its predecessor's lease at once. */
  readonly holder: string;
  readonly replicas: number;
  /** Whether this process has something to write; while it has not, it leaves the lease to others. */
  readonly mayHold: () => boolean;
  readonly log: Logger;
}

/**
 * The right to write one database's stream: an entry of NATS that ends by itself unless its holder renews it.
 *
 * Each renewal names the revision before it, so two processes never renew one lease. A holder counts its term from when it asked for
 * it, by its own clock alone, so its term ends before that of the entry; also while it was stopped. Two may still overlap by a message
 * that is under way: the stream refuses it then, since each message names the one before it.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #nats: Nats | null = null;
  #bucket: KV | null = null;
  #revision = 0;
  /** `performance.now()` at which the term ends. */
  #until = 0;
  #term = new AbortController();
  #holder: string | null = null;
  /** Another one's entry, and `performance.now()` when it was seen first. */
  #seen = { revision: 0, at: 0 };

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Whether this process may write. */
  get isHeld(): boolean {
    return performance.now() < this.#until;
  }

  /** Aborted when the term ends; look at `isHeld` before each write, for the signal may come late. */
  get term(): AbortSignal {
    return this.#term.signal;
  }

  /** Name of the server that has it; null when that is not known. */
  get holder(): string | null {
    return this.#holder;
  }

  /** Ends the term, so that another one may begin at once. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { link, log, key } = this.#options;
    const { signal } = this.#stopping;
    let fault = '';
    while (!signal.aborted) {
      try {
        await this.#renew(await link.connected(signal));
        fault = '';
      } catch (caught) {
        if (signal.aborted) break;
        const reason = caught instanceof Error ? caught.message : String(caught);
        if (reason !== fault)
          log.warn(
            { err: caught, lease: key },
            'the lease to write the stream could not be renewed; it is tried again'
          );
        fault = reason;
      }
      if (!this.isHeld) this.#end();
      await this.#pause();
    }
    await this.#giveBack();
  }

  /** Ends the term at once, so that another process may begin. */
  async #giveBack(): Promise<void> {
    const isMine = this.isHeld;
    this.#end();
    if (!isMine) return;
    await this.#bucket?.delete(this.#options.key, { previousSeq: this.#revision }).catch(() => undefined); // it ends by itself
  }

  /** Pauses until the next renewal or look, or the end of the term. */
  async #pause(): Promise<void> {
    const pauseMs = this.isHeld ? Math.min(RENEWAL_MS, this.#until - performance.now()) : LOOK_MS;
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined); // the loop ends by the signal
  }

  async #renew(nats: Nats): Promise<void> {
    const { holder, replicas, mayHold } = this.#options;
    if (!mayHold()) await this.#giveBack();
    if (nats !== this.#nats) {
      this.#bucket = await nats.values.create(LEASES_BUCKET, { history: 1, replicas, ttl: LEASE_MS });
      this.#nats = nats;
    }
    const askedAt = performance.now();
    const revision = await this.#take(this.#bucket!, holder).catch((caught: unknown) => {
      if ((caught as { code?: unknown }).code === WRONG_LAST_SEQUENCE) return null; // another process was faster
      throw caught;
    });
    if (revision === null) {
      this.#until = 0;
      return;
    }
    this.#revision = revision;
    this.#until = askedAt + LEASE_MS;
    this.#holder = holder;
    if (this.#term.signal.aborted) this.#term = new AbortController();
  }

  /** Renews the lease, or takes one that nobody has. @returns its revision; null when another process has it, or is to have it */
  async #take(bucket: KV, holder: string): Promise<number | null> {
    const { key } = this.#options;
    if (this.isHeld) return bucket.update(key, holder, this.#revision);
    const found = await bucket.get(key);
    const isFree = found === null || found.operation !== 'PUT';
    this.#holder = isFree ? null : found.string();
    if (!this.#options.mayHold()) return null;
    if (isFree) return bucket.create(key, holder);
    return this.#isOver(found.revision) || this.#holder === holder ? bucket.update(key, holder, found.revision) : null;
  }

  /** Returns whether an entry has stood for longer than a lease: NATS keeps it for longer where its clocks or its bucket are wrong. */
  #isOver(revision: number): boolean {
    if (revision !== this.#seen.revision) this.#seen = { revision, at: performance.now() };
    return performance.now() - this.#seen.at > LEASE_MS;
  }

  #end(): void {
    this.#until = 0;
    this.#term.abort();
  }
}
