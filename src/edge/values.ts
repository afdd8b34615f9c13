import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import type { NatsLink } from '../sync/relay/link.ts';
import { VALUES_BUCKET } from '../sync/relay/values.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';
import type { Catalog } from '../wire/log/catalog.ts';

const INTERVAL_MS = 2_000;

/** The origin's answers about one database. */
interface OriginValues {
  readonly height: number | null;
  readonly settledHeight: number | null;
  readonly amendments: number | null;
  readonly catalog: Catalog['databases'][number] | null;
}

interface ValuesOptions {
  readonly link: NatsLink;
  readonly ids: () => readonly DatabaseId[];
  readonly log: Logger;
}

/** Reads the origin's answers about each database from NATS, every two seconds. */
export class ValuesReader {
  readonly #options: ValuesOptions;
  readonly #stopping = new AbortController();
  readonly #known = new Map<string, OriginValues>();
  readonly #running: Promise<void>;

  constructor(options: ValuesOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** The last answers; undefined before the first. */
  of(id: DatabaseId): OriginValues | undefined {
    return this.#known.get(databaseKey(id));
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { link, ids, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const bucket = await link.current?.values.open(VALUES_BUCKET);
        const read = async <T>({ dbType, chain, network }: DatabaseId, name: string) =>
          ((await bucket?.get(`${dbType}.${chain}.${network}.${name}`))?.json() as T | undefined) ?? null;
        for (const id of bucket ? ids() : []) {
          const status = await read<Readonly<Record<string, number | null>>>(id, 'status');
          if (status === null) continue;
          const { block_height: height = null, settled_height: settledHeight = null, amendments = null } = status;
          const catalog = await read<Catalog['databases'][number]>(id, 'catalog');
          this.#known.set(databaseKey(id), { height, settledHeight, amendments, catalog });
        }
      } catch (caught) {
        log.debug({ err: caught }, 'the values of the origin could not be read');
      }
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }
}
