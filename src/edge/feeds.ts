import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import type { FanOut } from '../sync/fan-out/fan-out.ts';
import type { Nats, NatsLink } from '../sync/relay/link.ts';
import { streamName } from '../sync/relay/stream.ts';
import { type DatabaseId, DatabaseIdSchema, databaseKey } from '../wire/data/database.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { EdgeFeed, type FeedOptions } from './feed.ts';

/** Pause between two looks for further streams. */
const LOOK_MS = 5_000;
const RETRY_MS = 500;
/** Looks in a row without a stream after which its database is no longer served. */
const GONE_LOOKS = 12;
const SUBJECT = /^platform\.v1\.([^.]+)\.([^.]+)\.([^.]+)$/;

const isId = shapeOf(DatabaseIdSchema);

interface FeedsOptions extends Pick<FeedOptions, 'onFork'> {
  readonly link: NatsLink;
  readonly fanOut: FanOut;
  readonly log: Logger;
  /** Milliseconds between two looks for streams; default: LOOK_MS. */
  readonly lookMs?: number;
}

/** The feeds of all streams that there are. */
export class EdgeFeeds {
  readonly #options: FeedsOptions;
  /** By name of the stream. */
  readonly #feeds = new Map<string, EdgeFeed>();
  /** Looks in a row that did not find a stream, by its name. */
  readonly #missed = new Map<string, number>();
  /** Streams that told nothing of themselves at the last look. */
  #unknown: ReadonlySet<string> = new Set();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** The streams were listed once, and each told of which database it is. */
  hasListed = false;

  constructor(options: FeedsOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get ids(): readonly DatabaseId[] {
    return [...this.#feeds.values()].map(({ id }) => id);
  }

  of(id: DatabaseId): EdgeFeed | undefined {
    return this.#feeds.get(streamName(id));
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }

  async #run(): Promise<void> {
    const { link, log, lookMs = LOOK_MS } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pauseMs = RETRY_MS;
      try {
        const nats = await link.connected(signal);
        const names: string[] = [];
        for await (const name of nats.streams.streams.names()) if (name.startsWith('PLATFORM_')) names.push(name);
        await this.#leave(new Set(names));
        const unknown = new Set<string>();
        for (const name of names) if (!this.#feeds.has(name) && !(await this.#open(nats, name))) unknown.add(name);
        this.#unknown = unknown;
        if (unknown.size === 0) this.hasListed = true;
        pauseMs = lookMs;
      } catch (caught) {
        if (!signal.aborted) log.debug({ err: caught }, 'the streams could not be listed');
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }

  /** Serves the database of a stream, if it is that of one. @returns false where the stream does not tell */
  async #open(nats: Nats, name: string): Promise<boolean> {
    try {
      const { config } = await nats.streams.streams.info(name);
      const id = idOf(config.subjects[0] ?? '');
      if (id !== null && streamName(id) === name) this.#feeds.set(name, new EdgeFeed({ ...this.#options, id }));
      return true;
    } catch (caught) {
      if (!this.#unknown.has(name))
        this.#options.log.warn({ err: caught, stream: name }, 'a stream does not answer: its database is not served');
      return false;
    }
  }

  /** Serves no more the databases whose streams are gone. */
  async #leave(names: ReadonlySet<string>): Promise<void> {
    const { fanOut, onFork, log } = this.#options;
    for (const [name, feed] of this.#feeds) {
      const missed = names.has(name) ? 0 : (this.#missed.get(name) ?? 0) + 1;
      this.#missed.set(name, missed);
      if (missed < GONE_LOOKS) continue;
      this.#feeds.delete(name);
      this.#missed.delete(name);
      await feed.close();
      onFork?.(feed.id, 0);
      fanOut.breakOff(feed.id, 'the stream is gone');
      log.warn({ database: databaseKey(feed.id) }, `the stream ${name} is gone: its database is no longer served`);
    }
  }
}

function idOf(subject: string): DatabaseId | null {
  const [, dbType, chain, network] = SUBJECT.exec(subject) ?? [];
  const id = { dbType, chain, network };
  return isId.Check(id) ? id : null;
}
