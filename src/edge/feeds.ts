import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import type { FanOut } from '../sync/fan-out/fan-out.ts';
import type { NatsLink } from '../sync/relay/link.ts';
import { streamName } from '../sync/relay/stream.ts';
import { type DatabaseId, DatabaseIdSchema, databaseKey } from '../wire/data/database.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { EdgeFeed, type FeedOptions } from './feed.ts';

/** Pause between two looks for further streams. */
const LOOK_MS = 5_000;
const RETRY_MS = 500;
const SUBJECT = /^platform\.v1\.([^.]+)\.([^.]+)\.([^.]+)$/;

const isId = shapeOf(DatabaseIdSchema);

interface FeedsOptions extends Pick<FeedOptions, 'onFork'> {
  readonly link: NatsLink;
  readonly fanOut: FanOut;
  readonly log: Logger;
}

/** The feeds of all streams that there are. */
export class EdgeFeeds {
  readonly #options: FeedsOptions;
  readonly #feeds = new Map<string, EdgeFeed>();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** The streams were listed once. */
  hasListed = false;

  constructor(options: FeedsOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get ids(): readonly DatabaseId[] {
    return [...this.#feeds.values()].map(({ id }) => id);
  }

  of(id: DatabaseId): EdgeFeed | undefined {
    return this.#feeds.get(databaseKey(id));
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }

  async #run(): Promise<void> {
    const { link, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pauseMs = RETRY_MS;
      try {
        const nats = await link.connected(signal);
        for await (const name of nats.streams.streams.names()) {
          if (!name.startsWith('PLATFORM_') || name.endsWith('_BODIES')) continue;
          const { config } = await nats.streams.streams.info(name);
          const id = idOf(config.subjects[0] ?? '');
          if (id === null || streamName(id) !== name || this.#feeds.has(databaseKey(id))) continue;
          this.#feeds.set(databaseKey(id), new EdgeFeed({ ...this.#options, id }));
        }
        this.hasListed = true;
        pauseMs = LOOK_MS;
      } catch (caught) {
        if (!signal.aborted) log.debug({ err: caught }, 'the streams could not be listed');
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }
}

function idOf(subject: string): DatabaseId | null {
  const [, dbType, chain, network] = SUBJECT.exec(subject) ?? [];
  const id = { dbType, chain, network };
  return isId.Check(id) ? id : null;
}
