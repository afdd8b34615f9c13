import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import type { Logger } from '../../log.ts';
import type { DatabaseId } from '../../wire/data/database.ts';
import type { Catalog } from '../../wire/log/catalog.ts';
import type { Nats, NatsLink } from './link.ts';

/** The bucket of all databases of a cluster. */
export const VALUES_BUCKET = 'PLATFORM';
const INTERVAL_MS = 5_000;
/** Intervals between two looks at what seldom changes. */
const SELDOM = 6;

export interface ValuesOptions {
  readonly link: NatsLink;
  readonly replicas: number;
  /** The databases whose streams this process writes. */
  readonly ids: () => readonly DatabaseId[];
  /** Returns the body of a GET of this server; null when it is not answered with 200. */
  readonly read: (path: string) => Promise<string | null>;
  readonly log: Logger;
}

/**
 * Keeps the answers about each database in a bucket of NATS: `<dbType>.<chain>.<network>.<name>`, each the body of the route that
 * answers it here.
 *
 * Status and validators are written every five seconds, so the age of a value is the age of what it says; schema, catalog entry and
 * newest epoch when they changed. What cannot be written is tried again at the next look.
 */
export class RelayValues {
  readonly #options: ValuesOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #written = new Map<string, string>();
  #nats: Nats | null = null;
  #bucket: KV | null = null;
  #fault = '';
  /** Faults of the values of this look. */
  readonly #refused: unknown[] = [];

  constructor(options: ValuesOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let looks = 0; !signal.aborted; looks++) {
      try {
        if (await this.#open()) await this.#write(looks % SELDOM === 0);
        this.#fault = '';
      } catch (caught) {
        const fault = caught instanceof Error ? caught.message : String(caught);
        if (fault !== this.#fault)
          this.#options.log.warn(
            { err: caught },
            'status and catalog could not be written to NATS: edges show old ones'
          );
        this.#fault = fault;
      }
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }

  /** @returns false while NATS is away */
  async #open(): Promise<boolean> {
    const { link, replicas } = this.#options;
    const { current } = link;
    if (current !== this.#nats) {
      this.#written.clear();
      this.#bucket = current && (await current.values.create(VALUES_BUCKET, { history: 1, replicas }));
      this.#nats = current;
    }
    return this.#bucket !== null;
  }

  async #write(isSeldom: boolean): Promise<void> {
    const { ids, read } = this.#options;
    this.#refused.length = 0;
    const catalog = isSeldom ? await read('/catalog') : null;
    for (const id of ids()) {
      const { dbType, chain, network } = id;
      const path = `${dbType}/${chain}/${network}`;
      await this.#put(id, 'status', withoutSubscribers(await read(`/status/${path}`)), true);
      await this.#put(id, 'validators', await read(`/validator-status/${path}`), true);
      if (!isSeldom) continue;
      await this.#put(id, 'schema', await read(`/schema/${path}`));
      await this.#put(id, 'catalog', catalog && entryOf(id, catalog));
      if (dbType === 'indexer')
        await this.#put(id, 'epoch', await read(`/transparency/indexer/${chain}/${network}/root/latest`));
    }
    if (this.#refused.length > 0) throw this.#refused[0];
  }

  async #put(
    { dbType, chain, network }: DatabaseId,
    name: string,
    body: string | null,
    isAlways = false
  ): Promise<void> {
    const key = `${dbType}.${chain}.${network}.${name}`;
    if (body === null || (!isAlways && this.#written.get(key) === body)) return;
    try {
      await this.#bucket!.put(key, body);
      this.#written.set(key, body);
    } catch (caught) {
      if (this.#options.link.current !== this.#nats) throw caught;
      this.#refused.push(caught); // a list of strangers may be too long for NATS: others do not wait for it
    }
  }
}

function entryOf(id: DatabaseId, catalog: string): string | null {
  const { databases } = JSON.parse(catalog) as Catalog;
  const found = databases.find(
    ({ coin, network, dbType }) => coin === id.chain && network === id.network && dbType === id.dbType
  );
  return found ? JSON.stringify(found) : null;
}

/** Returns a status for readers elsewhere, without its subscribers: thousands of them are longer than a message of NATS may be. */
function withoutSubscribers(status: string | null): string | null {
  if (status === null) return null;
  const { subscribers: _, ...others } = JSON.parse(status) as Readonly<Record<string, unknown>>;
  return JSON.stringify(others);
}
