import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../log.ts';
import type { ResumePoint } from '../../replication/source/reading/resume-point.ts';
import type { Broadcast } from '../../wire/data/broadcast.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import { type LinkOptions, NatsLink } from './link.ts';
import { DatabasePublisher, type PublisherOptions, type PublisherView } from './publisher.ts';
import { RelaySnapshots, type SnapshotsOptions } from './snapshots.ts';
import { RelayValues, type ValuesOptions } from './values.ts';

/** Time in which leases are given back at the end; otherwise they end by themselves. */
const RELEASE_MS = 1_000;

interface RelayOptions
  extends Pick<PublisherOptions, 'limits' | 'directory' | 'maxBacklogBytes' | 'isFed' | 'unfedMs'> {
  readonly nats: Omit<LinkOptions, 'log'>;
  readonly log: Logger;
}

/** The streams of all databases that this process serves, over one connection to NATS. */
export class Relay {
  readonly #link: NatsLink;
  readonly #options: RelayOptions;
  #values: RelayValues | undefined;
  #snapshots: RelaySnapshots | undefined;
  readonly #publishers = new Map<string, DatabasePublisher>();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#link = new NatsLink({ ...options.nats, log: options.log });
  }

  /** @see DatabasePublisher.accept */
  accept(
    id: DatabaseId,
    messages: readonly Broadcast[],
    before: ResumePoint | null,
    after: ResumePoint
  ): Promise<void> {
    const key = databaseKey(id);
    const { nats: _, ...options } = this.#options;
    const publisher =
      this.#publishers.get(key) ??
      new DatabasePublisher({
        ...options,
        id,
        link: this.#link,
        onFork: async (nats, of, fork) => this.#snapshots?.invalidate(nats, of, fork)
      });
    this.#publishers.set(key, publisher);
    return publisher.accept(messages, before, after);
  }

  /** Begins to keep the answers of this server in NATS. */
  keepValues(read: ValuesOptions['read']): void {
    const ids = () => this.#publishing().map(({ id }) => id);
    const { limits, log } = this.#options;
    this.#values = new RelayValues({ link: this.#link, replicas: limits.replicas, ids, read, log });
  }

  /** Begins to keep snapshots in NATS. */
  keepSnapshots(everyBlocks: number, take: SnapshotsOptions['take']): void {
    const { limits, log } = this.#options;
    const databases = () => this.#publishing().filter(({ height }) => height >= 0);
    const { replicas } = limits;
    this.#snapshots = new RelaySnapshots({ link: this.#link, replicas, everyBlocks, databases, take, log });
  }

  #publishing(): readonly DatabasePublisher[] {
    return [...this.#publishers.values()].filter(({ view }) => view.state === 'publishing');
  }

  /** Returns the view of a database; undefined before it was first heard of. */
  view(id: DatabaseId): PublisherView | undefined {
    return this.#publishers.get(databaseKey(id))?.view;
  }

  async close(): Promise<void> {
    const all = [...this.#publishers.values()];
    const released = Promise.all(all.map((publisher) => publisher.release()));
    await Promise.race([released, sleep(RELEASE_MS, undefined, { ref: false })]);
    // Without a connection no publish is waited for.
    const publishers = all.map((publisher) => publisher.close());
    await Promise.all([this.#link.close(), this.#values?.close(), this.#snapshots?.close(), ...publishers]);
  }
}
